package workloads

import (
	"ray-on-aks/infra/sku"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Args declares what runs. All but Declared is filled in by main, from what the other parts are.
type Args struct {
	// Declared are the workloads by name: key ray-on-aks:workloads.
	Declared Declared `json:"-"`

	Platform

	// Host is the stack whose platform it is, where that is another one; nil where it is this stack's own.
	Host *Host `json:"-"`
	// Refused are the names of teams, pools, containers and priorities that their own part refuses. They are not suggested, and what was
	// meant for one of them is not reported as well.
	Refused []string `json:"-"`
	// InCluster are the options that every object in the cluster takes beside its parent: deletedWith, order, hooks.
	InCluster []pulumi.ResourceOption `json:"-"`
}

// Platform is what workloads have to know of where they run. All of it is plain, so that it can be checked at preview, and given out to
// other stacks: the keys are those of the output platform.
type Platform struct {
	// Tenants are the teams that a workload may name.
	Tenants []Tenant `json:"tenants"`
	// Pools are all node pools, those outside the queues too.
	Pools []Pool `json:"pools"`
	// Sizes are the VM sizes that a pool could have.
	Sizes []sku.SKU `json:"sizes,omitempty"`
	// CPUPool is the pool that the heads of services run on. Those of jobs are placed by Kueue.
	CPUPool string `json:"cpuPool"`
	// Containers are the storage containers that can be mounted.
	Containers []string `json:"containers,omitempty"`
	// Priorities are the priority classes that a workload may name.
	Priorities []string `json:"priorities"`
	// ServiceAccount is what all pods run as, in every tenant's namespace.
	ServiceAccount string `json:"serviceAccount"`
	// Versions are the pinned versions.
	Versions Versions `json:"versions"`
}

// Versions are what a workload runs unless it names an image of its own.
type Versions struct {
	// Ray is the release of Ray in the image.
	Ray string `json:"ray"`
	// Image is the default image.
	Image string `json:"image"`
}

// Tenant is who a workload belongs to.
type Tenant struct {
	// Name is what a workload calls it in `team`.
	Name string `json:"name"`
	// Namespace is where its objects are.
	Namespace string `json:"namespace"`
	// Queue is where its jobs wait.
	Queue Queue `json:"queue"`
}

// Queue is a LocalQueue as a workload sees it: what it can admit at best.
type Queue struct {
	// Name is the LocalQueue's name.
	Name string `json:"name"`
	// Flavors are the kinds of nodes behind it, in the order in which they are tried.
	Flavors []Flavor `json:"flavors,omitempty"`
}

// Flavor is one kind of node behind a queue.
type Flavor struct {
	// Name is the flavor's name, which is its pool's.
	Name string `json:"name"`
	// Node is what workloads can have of one node.
	Node sku.Resources `json:"node"`
	// Limit is the most that the queue can ever get of it: its own quota and what it may borrow.
	Limit sku.Resources `json:"limit"`
	// LimitedBy are the keys of config that keep Limit below what the pool has, by resource: cpu, memory, gpu. A resource that is not there
	// is limited by the pool's size.
	LimitedBy map[string]string `json:"limitedBy,omitempty"`
	// Tainted is whether only pods with GPUs tolerate its nodes.
	Tainted bool `json:"tainted"`
}

// Pool is a node pool.
type Pool struct {
	// Name is the pool's name.
	Name string `json:"name"`
	// Nodes is the pool's maximum size.
	Nodes int `json:"nodes"`
	// Node is what workloads can have of one node.
	Node sku.Resources `json:"node"`
	// Serving is whether the pool is kept out of the queues, for services.
	Serving bool `json:"serving"`
	// Tainted is whether only pods with GPUs tolerate its nodes.
	Tainted bool `json:"tainted"`
}

// defaultPriority is the class of a job that names none.
const defaultPriority = "normal"

// resolved returns w with the stack's defaults filled in.
func (a Args) resolved(w Workload) Workload {
	if w.Image == "" {
		w.Image = a.Versions.Image
	}
	// With several, the first by name would be another when a team is added, and the run would move.
	if w.Team == "" && len(a.Tenants) == 1 {
		w.Team = a.Tenants[0].Name
	}
	switch {
	case w.Kind == KindRayJob && w.Priority == "":
		w.Priority = defaultPriority
	case w.Kind == KindRayService && w.RoutePrefix == "":
		w.RoutePrefix = "/"
	}
	return w
}

// tenant returns the tenant of that name.
func (a Args) tenant(name string) (Tenant, bool) {
	return find(a.Tenants, func(t Tenant) bool { return t.Name == name })
}

// pool returns the node pool of that name.
func (a Args) pool(name string) (Pool, bool) {
	return find(a.Pools, func(p Pool) bool { return p.Name == name })
}

// flavor returns the flavor of that name.
func (q Queue) flavor(name string) (Flavor, bool) {
	return find(q.Flavors, func(f Flavor) bool { return f.Name == name })
}

func find[T any](list []T, is func(T) bool) (T, bool) {
	for _, element := range list {
		if is(element) {
			return element, true
		}
	}
	var none T
	return none, false
}
