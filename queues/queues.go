// Package queues answers who may use the hardware: a flavor for each node pool, a ClusterQueue with the quota, and the LocalQueue
// that workloads name.
package queues

import (
	"fmt"

	"ray-on-aks/internal/crd"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Type is the component's token. Changing it without an alias replaces every queue.
const Type = "ray-on-aks:index:Queues"

// Queues is the component. Its Kubernetes provider is the caller's.
type Queues struct {
	pulumi.ResourceState

	// Objects are all queue objects: what a workload has to come after.
	Objects []pulumi.Resource

	name string
	args Args
}

// New creates the component. The caller passes the cluster's provider by pulumi.Provider.
func New(ctx *pulumi.Context, name string, args Args, opts ...pulumi.ResourceOption) (*Queues, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	c := &Queues{name: name, args: args}
	if err := ctx.RegisterComponentResource(Type, name, c, opts...); err != nil {
		return nil, fmt.Errorf("registering %s: %w", name, err)
	}
	if err := c.newObjects(ctx); err != nil {
		return nil, err
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{
		"localQueue": pulumi.String(args.LocalQueue),
	})
}

// newObjects creates flavors, then the ClusterQueue, then the LocalQueue. Pulumi deletes in the reverse order, which is the one in
// which Kueue's finalizers let go.
func (c *Queues) newObjects(ctx *pulumi.Context) error {
	for _, pool := range c.args.Ordered() {
		if err := c.add(ctx, "flavor-"+pool.Name, resourceFlavor(pool)); err != nil {
			return err
		}
	}
	if err := c.add(ctx, "cluster-queue", clusterQueue(c.args)); err != nil {
		return err
	}
	return c.add(ctx, "local-queue", localQueue(c.args))
}

// add creates one object after all that were created before it.
func (c *Queues) add(ctx *pulumi.Context, role string, o crd.Object) error {
	opts := append([]pulumi.ResourceOption{pulumi.Parent(c), pulumi.DependsOn(c.Objects)}, c.args.InCluster...)
	r, err := crd.New(ctx, c.name+"-"+role, o, opts...)
	if err != nil {
		return fmt.Errorf("creating %s %s: %w", o.GVK.Kind, o.Meta.Name, err)
	}
	c.Objects = append(c.Objects, r)
	return nil
}

// kind returns a Kueue kind at the version that the server stores.
func kind(name string) schema.GroupVersionKind { return kueue.GroupVersion.WithKind(name) }
