// Package queues answers who may use the hardware: a flavor for each node pool, ClusterQueues with the quota, the LocalQueues that
// workloads name, and the classes of priority.
package queues

import (
	"fmt"
	"maps"
	"slices"

	"ray-on-aks/internal/aks"
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
	for _, create := range []func(*pulumi.Context) error{c.newPriorityClasses, c.newQueues} {
		if err := create(ctx); err != nil {
			return nil, err
		}
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{
		"localQueue": pulumi.String(args.LocalQueue),
	})
}

func (c *Queues) newPriorityClasses(ctx *pulumi.Context) error {
	for _, name := range slices.Sorted(maps.Keys(c.args.Priorities)) {
		if _, err := c.add(ctx, "priority-"+name, priorityClass(name, c.args.Priorities[name])); err != nil {
			return err
		}
	}
	return nil
}

// newQueues creates flavors, the ClusterQueues that refer to them, and the LocalQueues that lead to those. Pulumi deletes in the reverse
// order, which is the one in which Kueue's finalizers let go. A queue comes after what it refers to and nothing else, so that a team
// comes and goes without the others.
func (c *Queues) newQueues(ctx *pulumi.Context) error {
	var flavors []pulumi.Resource
	for _, pool := range c.args.Ordered() {
		r, err := c.add(ctx, "flavor-"+pool.Name, resourceFlavor(pool))
		if err != nil {
			return err
		}
		flavors = append(flavors, r)
	}
	clusterQueues := map[string]pulumi.Resource{}
	for _, q := range c.args.queues() {
		r, err := c.add(ctx, "cluster-queue-"+q.name, clusterQueue(c.args, q), pulumi.DependsOn(flavors))
		if err != nil {
			return err
		}
		clusterQueues[q.name] = r
	}
	for _, t := range c.args.Tenants() {
		after := []pulumi.Resource{clusterQueues[t.ClusterQueue]}
		if namespace := c.args.Namespaces[t.Name]; namespace != nil {
			after = append(after, namespace)
		}
		// Kueue does not let a LocalQueue change its ClusterQueue. Jobs that wait in it wait on, for the one that takes its name; those
		// that were admitted run on in the old ClusterQueue.
		_, err := c.add(ctx, "local-queue-"+aks.TenantHandle(t.Namespace), localQueue(t), pulumi.DependsOn(after),
			pulumi.ReplaceOnChanges([]string{"spec.clusterQueue"}), pulumi.DeleteBeforeReplace(true))
		if err != nil {
			return err
		}
	}
	return nil
}

// add creates one object.
func (c *Queues) add(ctx *pulumi.Context, role string, o crd.Object, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	r, err := crd.New(ctx, c.name+"-"+role, o, slices.Concat([]pulumi.ResourceOption{pulumi.Parent(c)}, c.args.InCluster, opts)...)
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", o.GVK.Kind, o.Meta.Name, err)
	}
	c.Objects = append(c.Objects, r)
	return r, nil
}

// kind returns a Kueue kind at the version that the server stores.
func kind(name string) schema.GroupVersionKind { return kueue.GroupVersion.WithKind(name) }
