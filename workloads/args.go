package workloads

import (
	"ray-on-aks/infra/sku"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Args declares what runs. It is the stack's `workloads` object; the fields without a key are filled in by main.
type Args struct {
	// Jobs are the workloads by name. Names of the catalog stand for its entries.
	Jobs Jobs `json:"jobs"`

	// Namespace is where the workloads run.
	Namespace string `json:"-"`
	// ServiceAccount is what their pods run as.
	ServiceAccount string `json:"-"`
	// Queues are the queues that a workload may name, the default one first.
	Queues []Queue `json:"-"`
	// Versions are the pinned versions.
	Versions Versions `json:"-"`
	// InCluster are the options that every object takes beside its parent: deletedWith, order, hooks.
	InCluster []pulumi.ResourceOption `json:"-"`
}

// Versions are what a workload runs unless it names an image of its own.
type Versions struct {
	// Ray is the release of Ray in the image.
	Ray string
	// Image is the default image.
	Image string
}

// Queue is a LocalQueue as a workload sees it: what it can admit at best.
type Queue struct {
	// Name is the LocalQueue's name.
	Name string
	// Flavors are the kinds of nodes behind it, in the order in which they are tried.
	Flavors []Flavor
}

// Flavor is one kind of node behind a queue.
type Flavor struct {
	// Name is the flavor's name, which is its pool's.
	Name string
	// Node is what workloads can have of one node.
	Node sku.Resources
	// Quota is what the queue may hand out in all.
	Quota sku.Resources
}

// resolved returns w with the stack's defaults filled in.
func (a Args) resolved(w Workload) Workload {
	if w.Image == "" {
		w.Image = a.Versions.Image
	}
	if w.Queue == "" && len(a.Queues) > 0 {
		w.Queue = a.Queues[0].Name
	}
	return w
}

// queue returns the queue of that name.
func (a Args) queue(name string) (Queue, bool) {
	for _, q := range a.Queues {
		if q.Name == name {
			return q, true
		}
	}
	return Queue{}, false
}
