// Package infra answers where the workloads run: the AKS cluster and its node pools, storage and the identity that reads it,
// and the two operators that bring Ray and queueing into the cluster.
package infra

import (
	"fmt"

	containerservice "github.com/pulumi/pulumi-azure-native-sdk/containerservice/v2/v20240901"
	"github.com/pulumi/pulumi-azure-native-sdk/resources/v2"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Type is the component's token. It is part of every child's URN: changing it without an alias replaces everything.
const Type = "ray-on-aks:index:Infra"

// Infra is the component. Its providers for azure-native and random are the caller's; the Kubernetes provider is its own,
// since it is made of the cluster's credentials.
type Infra struct {
	pulumi.ResourceState

	// ResourceGroup is the name of the resource group.
	ResourceGroup pulumi.StringOutput
	// ClusterName is the name of the AKS cluster.
	ClusterName pulumi.StringOutput
	// Kubeconfig is the cluster's kubeconfig; a secret.
	Kubeconfig pulumi.StringOutput
	// StorageAccount is the name of the storage account.
	StorageAccount pulumi.StringOutput
	// Kubernetes is the provider for everything inside the cluster.
	Kubernetes *kubernetes.Provider

	name   string
	args   Args
	group  *resources.ResourceGroup
	aks    *containerservice.ManagedCluster
	bridge pulumi.ResourceOption
	// ready is what has to exist before a queue or a workload makes sense.
	ready []pulumi.Resource
}

// New creates the component. The caller passes the azure-native and random providers by pulumi.Providers.
func New(ctx *pulumi.Context, name string, args Args, opts ...pulumi.ResourceOption) (*Infra, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	c := &Infra{name: name, args: args}
	if err := ctx.RegisterComponentResource(Type, name, c, opts...); err != nil {
		return nil, fmt.Errorf("registering %s: %w", name, err)
	}
	steps := []struct {
		activity string
		run      func(*pulumi.Context) error
	}{
		{"creating the resource group", c.newResourceGroup},
		{"creating the cluster", c.newCluster},
		{"creating node pools", c.newNodePools},
		{"reading the kubeconfig", c.newKubernetesProvider},
		{"creating storage", c.newStorage},
		{"installing operators", c.newOperators},
	}
	for _, step := range steps {
		if err := step.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.activity, err)
		}
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{
		"resourceGroup":  c.ResourceGroup,
		"clusterName":    c.ClusterName,
		"kubeconfig":     c.Kubeconfig,
		"storageAccount": c.StorageAccount,
	})
}

// InCluster returns the options that every object inside the cluster takes, beside its parent: it is deleted with the cluster
// rather than one by one, it comes after what it needs, and its creation waits for Kueue's webhook.
//
// DeletedWith is inherited from a component, but only inside the engine: given to each object, it is also there for tests.
func (c *Infra) InCluster() []pulumi.ResourceOption {
	return []pulumi.ResourceOption{pulumi.DeletedWith(c.aks), pulumi.DependsOn(c.ready), c.bridge}
}

func (c *Infra) newResourceGroup(ctx *pulumi.Context) error {
	group, err := resources.NewResourceGroup(ctx, c.name+"-resource-group", &resources.ResourceGroupArgs{
		ResourceGroupName: pulumi.String(c.args.resourceGroupName()),
		Location:          pulumi.String(c.args.Location),
		Tags:              c.tags(),
	}, pulumi.Parent(c))
	if err != nil {
		return err
	}
	c.group, c.ResourceGroup = group, group.Name
	return nil
}

// child returns the options of an object of this component inside the cluster.
func (c *Infra) child(opts ...pulumi.ResourceOption) pulumi.ResourceOption {
	return pulumi.Composite(append(opts, pulumi.Parent(c), pulumi.Provider(c.Kubernetes), pulumi.DeletedWith(c.aks))...)
}

func (c *Infra) tags() pulumi.StringMapInput { return pulumi.ToStringMap(c.args.Tags) }
