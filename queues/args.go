package queues

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/strict"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Args declares who may use the hardware. It is the stack's `queues` object; the fields without a key are filled in by main.
type Args struct {
	// Shape is how the quota is divided: single (default) or teams.
	Shape Shape `json:"shape"`
	// ClusterQueue is the one queue's name in the shape single. Default: ray.
	ClusterQueue string `json:"clusterQueue"`
	// Cohort is what the teams' queues borrow from in the shape teams. Default: ray.
	Cohort string `json:"cohort"`
	// LocalQueue is the queue that workloads name, in the namespace of every tenant. Default: ray-jobs.
	LocalQueue string `json:"localQueue"`
	// Namespace is where workloads run while no teams are declared. Default: ray.
	Namespace string `json:"namespace"`
	// Quota is the quota of a pool, where it should be less than what the pool can allocate at its maximum size.
	Quota map[string]Quota `json:"quota"`
	// Teams are who shares the hardware, by name. They have their own namespaces in either shape, and their own quota in the shape
	// teams. Default: none, which is one tenant for everybody.
	Teams Teams `json:"teams"`
	// Priorities are the values of the priority classes that workloads may name; the higher goes first. Default: low 100, normal 500,
	// high 1000; what a stack names is added or changed.
	Priorities map[string]int32 `json:"priorities"`

	// Pools are the node pools that the quota comes from.
	Pools []Pool `json:"-"`
	// RefusedPools are the names of those that infra refuses.
	RefusedPools []string `json:"-"`
	// InCluster are the options that every object takes beside its parent: deletedWith, order, hooks. They must not put the objects after
	// the tenants' namespaces: where a team is removed, its ClusterQueue is gone only when the jobs in its namespace are.
	InCluster []pulumi.ResourceOption `json:"-"`
	// Namespaces are the tenants' namespaces by tenant: what its LocalQueue comes after.
	Namespaces map[string]pulumi.Resource `json:"-"`
}

// Shape is how the quota is divided.
type Shape string

const (
	// ShapeSingle is one queue with the whole quota.
	ShapeSingle Shape = "single"
	// ShapeTeams is a queue a team, which lends to the others what its team does not use.
	ShapeTeams Shape = "teams"
)

// Quota limits one pool; an empty field sets no limit of its own.
type Quota struct {
	// CPU is in cores, for example 6 or 6500m.
	CPU *resource.Quantity `json:"cpu"`
	// Memory is in bytes, for example 24Gi; what is left of it above a whole MiB is not used.
	Memory *resource.Quantity `json:"memory"`
	// GPUs is a number of whole GPUs.
	GPUs *int64 `json:"gpus"`
}

// Team declares a tenant, and what it is guaranteed in the shape teams.
type Team struct {
	// Namespace is where its workloads run. Default: ray-<team>. A team that is renamed keeps identity, mounts and namespace if it names the
	// one that it had.
	Namespace string `json:"namespace"`
	// Share is its part of what the teams without a quota divide among them. Default: 1.
	Share int `json:"share"`
	// Quota is what it is guaranteed of a pool, by pool. Default: its share.
	Quota map[string]Quota `json:"quota"`
	// BorrowingLimit is how much more than its quota it may use while others do not, by pool. Default: all of theirs.
	BorrowingLimit map[string]Quota `json:"borrowingLimit"`
	// LendingLimit is how much of its quota others may use while it does not, by pool. Default: all of it.
	LendingLimit map[string]Quota `json:"lendingLimit"`
}

// Teams are teams by name.
type Teams map[string]Team

// UnmarshalJSON decodes onto the teams that are there, and gives a new one its share.
func (t *Teams) UnmarshalJSON(data []byte) error {
	return strict.Merge(t, data, func(team Team, known bool, _ json.RawMessage) (Team, error) {
		if !known {
			team.Share = 1
		}
		return team, nil
	})
}

// Names lists the teams in a fixed order.
func (t Teams) Names() []string { return slices.Sorted(maps.Keys(t)) }

// Pool is a node pool as a queue sees it.
type Pool struct {
	// Name is the pool's name; the flavor's too.
	Name string
	// Nodes is the pool's maximum size.
	Nodes int
	// Node is what workloads can have of one node.
	Node sku.Resources
	// Taints are on every node of the pool.
	Taints []corev1.Taint
	// Reserved is what services on the pool hold outside the queues.
	Reserved sku.Resources
}

// Tenant is who has a namespace and a queue in it.
type Tenant struct {
	// Name is the team's; ray where there are no teams.
	Name string
	// Namespace is where its workloads run.
	Namespace string
	// ClusterQueue is the queue that its quota is in.
	ClusterQueue string
	// LocalQueue is the queue that its workloads name.
	LocalQueue string
}

// onlyTenant is the tenant's name where no teams are declared.
const onlyTenant = "ray"

// Tenants lists the tenants in the order of their names.
func (a Args) Tenants() []Tenant {
	if len(a.Teams) == 0 {
		return []Tenant{{Name: onlyTenant, Namespace: a.Namespace, ClusterQueue: a.ClusterQueue, LocalQueue: a.LocalQueue}}
	}
	var tenants []Tenant
	for _, name := range a.Teams.Names() {
		t := Tenant{Name: name, Namespace: a.Teams[name].Namespace, ClusterQueue: a.ClusterQueue, LocalQueue: a.LocalQueue}
		if t.Namespace == "" {
			t.Namespace = aks.NamespacePrefix + name
		}
		if a.Shape == ShapeTeams {
			t.ClusterQueue = name
		}
		tenants = append(tenants, t)
	}
	return tenants
}

// Ordered lists the pools in the order in which Kueue tries their flavors: pools without GPUs first, so that heads and submitters do
// not take a GPU node's CPU, then by name.
func (a Args) Ordered() []Pool {
	return slices.SortedFunc(slices.Values(a.Pools), func(x, y Pool) int {
		if (x.Node.GPUs > 0) != (y.Node.GPUs > 0) {
			if x.Node.GPUs > 0 {
				return 1
			}
			return -1
		}
		return strings.Compare(x.Name, y.Name)
	})
}

// hasGPUs reports whether any pool has GPUs.
func (a Args) hasGPUs() bool {
	return slices.ContainsFunc(a.Pools, func(p Pool) bool { return p.Node.GPUs > 0 })
}
