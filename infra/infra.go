// Package infra answers where the workloads run: the AKS cluster and its node pools, storage, what each tenant needs to reach it, and the
// operators that bring Ray, queueing and GPUs into the cluster.
package infra

import (
	"fmt"

	containerservice "github.com/pulumi/pulumi-azure-native-sdk/containerservice/v2/v20240901"
	"github.com/pulumi/pulumi-azure-native-sdk/resources/v2"
	"github.com/pulumi/pulumi-azure-native-sdk/storage/v2"
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
	// OIDCIssuerURL is who signs the tokens of the cluster's service accounts; other identities can trust it too.
	OIDCIssuerURL pulumi.StringOutput
	// TenantID is the Microsoft Entra tenant that the identities are in. It has nothing to do with Tenant.
	TenantID pulumi.StringOutput
	// ClientIDs are the client ids of the tenants' identities, by tenant.
	ClientIDs pulumi.StringMap
	// Namespaces are the tenants' namespaces, by tenant.
	Namespaces map[string]pulumi.Resource
	// Kubernetes is the provider for everything inside the cluster.
	Kubernetes *kubernetes.Provider

	name    string
	args    Args
	group   *resources.ResourceGroup
	aks     *containerservice.ManagedCluster
	account *storage.StorageAccount
	bridge  pulumi.ResourceOption
	// ready is what has to exist before a queue makes sense: pools and operators.
	ready []pulumi.Resource
	// settled is what tenants have, and what has to exist before a workload makes sense.
	settled []pulumi.Resource
}

// New creates the component. The caller passes the azure-native and random providers by pulumi.Providers.
func New(ctx *pulumi.Context, name string, args Args, opts ...pulumi.ResourceOption) (*Infra, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	c := &Infra{name: name, args: args, ClientIDs: pulumi.StringMap{}, Namespaces: map[string]pulumi.Resource{}}
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
		{"creating tenants", c.newTenants},
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
		"oidcIssuerUrl":  c.OIDCIssuerURL,
		"tenantId":       c.TenantID,
		"clientIds":      c.ClientIDs,
	})
}

// InCluster returns the options that every object inside the cluster takes, beside its parent: it is deleted with the cluster
// rather than one by one, it comes after pools and operators, and its creation waits for Kueue's webhook. It does not come after
// the tenants, so that a queue outlives the namespace of a tenant that goes, and the jobs in it.
//
// DeletedWith is inherited from a component, but only inside the engine: given to each object, it is also there for tests.
func (c *Infra) InCluster() []pulumi.ResourceOption {
	return []pulumi.ResourceOption{goesWith(c.aks), pulumi.DependsOn(c.ready), c.bridge}
}

// Settled is what tenants have: pods that start before it is there have no storage, or no right to it.
func (c *Infra) Settled() []pulumi.Resource { return c.settled }

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
	return pulumi.Composite(append(opts, pulumi.Parent(c), pulumi.Provider(c.Kubernetes), goesWith(c.aks))...)
}

// goesWith is for what another resource takes along when it goes: it is not deleted by itself, and when the other is replaced it has to be
// made anew. Without the second the engine would take it for still there.
func goesWith(other pulumi.Resource) pulumi.ResourceOption {
	return pulumi.Composite(pulumi.DeletedWith(other), replacedWith(other))
}

// replacedWith is for what has to be made anew when another resource is. Its name is free only when the old one is gone.
func replacedWith(other pulumi.Resource) pulumi.ResourceOption {
	return pulumi.Composite(pulumi.ReplaceWith([]pulumi.Resource{other}), pulumi.DeleteBeforeReplace(true))
}

func (c *Infra) tags() pulumi.StringMapInput { return pulumi.ToStringMap(c.args.Tags) }
