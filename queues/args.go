package queues

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Args declares who may use the hardware. It is the stack's `queues` object; the fields without a key are filled in by main.
type Args struct {
	// Shape is how the quota is divided. Default and only shape: single, one queue that has all of it.
	Shape Shape `json:"shape"`
	// ClusterQueue is the cluster-wide queue's name. Default: ray.
	ClusterQueue string `json:"clusterQueue"`
	// LocalQueue is the queue that workloads name. Default: ray-jobs.
	LocalQueue string `json:"localQueue"`
	// Quota is the quota of a pool, where it should be less than what the pool can allocate at its maximum size.
	Quota map[string]Quota `json:"quota"`

	// Namespace is where the workloads run.
	Namespace string `json:"-"`
	// Pools are the node pools that the quota comes from.
	Pools []Pool `json:"-"`
	// InCluster are the options that every object takes beside its parent: deletedWith, order, hooks.
	InCluster []pulumi.ResourceOption `json:"-"`
}

// Shape is how the quota is divided.
type Shape string

// ShapeSingle is one queue with the whole quota.
const ShapeSingle Shape = "single"

// Quota limits one pool; an empty field means all that the pool has.
type Quota struct {
	// CPU is in cores, for example 6 or 6500m.
	CPU *resource.Quantity `json:"cpu"`
	// Memory is in bytes, for example 24Gi.
	Memory *resource.Quantity `json:"memory"`
	// GPUs is a number of whole GPUs.
	GPUs *int64 `json:"gpus"`
}

// Pool is a node pool as a queue sees it.
type Pool struct {
	// Name is the pool's name; the flavor's too.
	Name string
	// Nodes is the pool's maximum size.
	Nodes int
	// Node is what workloads can have of one node.
	Node sku.Resources
}

// capacity is what the pool can allocate at its maximum size.
func (p Pool) capacity() sku.Resources { return p.Node.Times(int64(p.Nodes)) }

// QuotaOf is what the queue may hand out of the pool.
func (a Args) QuotaOf(p Pool) sku.Resources {
	r, q := p.capacity(), a.Quota[p.Name]
	if q.CPU != nil {
		r.MilliCPU = q.CPU.MilliValue()
	}
	if q.Memory != nil {
		r.MemoryMiB = q.Memory.Value() >> 20
	}
	if q.GPUs != nil {
		r.GPUs = *q.GPUs
	}
	return r
}

// Ordered lists the pools in the order in which Kueue tries their flavors: pools without GPUs first, so that heads and submitters do
// not take a GPU node's CPU, then by name.
func (a Args) Ordered() []Pool {
	return slices.SortedFunc(slices.Values(a.Pools), func(x, y Pool) int {
		if (x.Node.GPUs > 0) != (y.Node.GPUs > 0) {
			return int(x.Node.GPUs - y.Node.GPUs)
		}
		return strings.Compare(x.Name, y.Name)
	})
}

// hasGPUs reports whether any pool has GPUs.
func (a Args) hasGPUs() bool {
	return slices.ContainsFunc(a.Pools, func(p Pool) bool { return p.Node.GPUs > 0 })
}

// Validate reports everything that cannot work, each with the path of its config key.
func (a Args) Validate() error {
	var errs []error
	if a.Shape != ShapeSingle {
		errs = append(errs, fmt.Errorf("queues.shape: must be %s, got %q", ShapeSingle, a.Shape))
	}
	errs = append(errs, strict.CheckLabel("queues.clusterQueue", a.ClusterQueue), strict.CheckLabel("queues.localQueue", a.LocalQueue))
	if a.LocalQueue == "default" {
		errs = append(errs, errors.New("queues.localQueue: must not be default: Kueue would put every unlabelled Ray object of the namespace into it"))
	}
	known := map[string]Pool{}
	for _, p := range a.Pools {
		known[p.Name] = p
	}
	for _, name := range slices.Sorted(maps.Keys(a.Quota)) {
		path := "queues.quota." + name
		pool, ok := known[name]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: there is no pool of that name, only %s", path, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		}
		errs = append(errs, a.validateQuota(path, pool))
	}
	return errors.Join(errs...)
}

// validateQuota refuses a quota above the hardware: Kueue would admit what can never be scheduled.
func (a Args) validateQuota(path string, p Pool) error {
	var errs []error
	q := a.QuotaOf(p)
	if over := q.Exceeds(p.capacity()); len(over) > 0 {
		errs = append(errs, fmt.Errorf("%s: is more than %d nodes of the pool can allocate: %s", path, p.Nodes, strings.Join(over, ", ")))
	}
	if q.MilliCPU < 0 || q.MemoryMiB < 0 || q.GPUs < 0 {
		errs = append(errs, fmt.Errorf("%s: must not be negative", path))
	}
	return errors.Join(errs...)
}
