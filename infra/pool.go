package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ray-on-aks/internal/strict"
)

// CPUPool is the pool that is always there: heads, submitters and CPU workloads run on it.
const CPUPool = "cpu"

// maxPools is the most node pools that AKS takes in a cluster. https://learn.microsoft.com/azure/aks/quotas-skus-regions
const maxPools = 100

// Pool declares a node pool under the cluster autoscaler.
type Pool struct {
	// VMSize is a size of infra/sku or of `skus`. The nodes of a size with GPUs are tainted, so that only pods that ask for GPUs come.
	VMSize string `json:"vmSize"`
	// Min is the least number of nodes. Default: 0.
	Min int `json:"min"`
	// Max is the most nodes that there may be, from which the queues' quota is derived.
	Max int `json:"max"`
	// Count is the number of nodes at creation, between Min and Max. Default: Min. Later changes are ignored: the autoscaler owns it.
	Count int `json:"count"`
	// Zones are where the nodes are. Default: none; all three for prod's cpu pool. A size that only some zones of the region have
	// needs those, or its nodes never come. Changing them replaces the pool.
	Zones Zones `json:"zones"`
	// Serving keeps the pool out of the queues: RayServices run there, which no queue admits. Default: false.
	Serving bool `json:"serving"`

	// defaultMax is whether Max is what the profile says, or nothing at all, for messages.
	defaultMax bool
}

// Pools are node pools by name.
type Pools map[string]Pool

// UnmarshalJSON decodes onto the pools that are there, so that a stack file says only what differs from the defaults.
func (p *Pools) UnmarshalJSON(data []byte) error {
	return strict.Merge(p, data, func(pool Pool, _ bool, value json.RawMessage) (Pool, error) {
		var said struct{ Min, Max, Count *int }
		err := json.Unmarshal(value, &said)
		pool.defaultMax = said.Max == nil
		if said.Min != nil && said.Count == nil {
			pool.Count = max(pool.Count, *said.Min)
		}
		return pool, err
	})
}

// Names lists the pools in a fixed order.
func (p Pools) Names() []string { return slices.Sorted(maps.Keys(p)) }

// Serves says whether the pool is for services alone. The CPU pool never is: every queue needs it for heads and submitters.
func (a Args) Serves(pool string) bool { return a.Pools[pool].Serving && pool != CPUPool }

// hasGPUs says whether the pool's nodes have GPUs. An unknown size has none here: validation reports it.
func (a Args) hasGPUs(p Pool) bool {
	size, ok := a.size(p.VMSize)
	return ok && size.GPUs > 0
}

// gpuPools lists the pools whose nodes have GPUs, in a fixed order. In CPU-only mode there are none.
func (a Args) gpuPools() []string {
	return slices.DeleteFunc(a.Pools.Names(), func(name string) bool { return !a.hasGPUs(a.Pools[name]) })
}

func (a Args) validatePools(path string) error {
	var errs []error
	if _, ok := a.Pools[CPUPool]; !ok {
		errs = append(errs, fmt.Errorf("%s.%s: must exist: heads and submitters run there", path, CPUPool))
	}
	if most := maxPools - 1; len(a.Pools) > most {
		errs = append(errs, fmt.Errorf("%s: must be at most %d pools, as AKS takes %d in a cluster and one is the system's, got %d", path, most, maxPools, len(a.Pools)))
	}
	for _, name := range a.Pools.Names() {
		errs = append(errs, a.validatePool(path+"."+name, name))
	}
	return errors.Join(append(errs, a.validateNodes(path))...)
}

func (a Args) validatePool(path, name string) error {
	pool := a.Pools[name]
	if pool.VMSize == "" && strict.Nearest(name, []string{CPUPool, "gpu"}) == CPUPool {
		// The cpu pool has a size; misspelt, it is a new pool without any. So is one for GPUs of which only its name is there yet.
		return fmt.Errorf("%s.vmSize: must be set; did you mean %s?", path, CPUPool)
	}
	errs := []error{
		ruleAgentPool.check(path, name, append(a.Pools.Names(), systemPoolName)...),
		a.checkNodes(path, name),
		pool.Zones.validate(path + ".zones"),
	}
	if name == systemPoolName {
		errs = append(errs, fmt.Errorf("%s: is the name of the cluster's own system pool; choose another", path))
	}
	return errors.Join(errs...)
}

// checkNodes refuses what leaves it open which nodes the pool has, how many, and for whom.
func (a Args) checkNodes(path, name string) error {
	pool := a.Pools[name]
	size := a.checkSize(path+".vmSize", pool.VMSize, checkPoolSize(name))
	if pool.VMSize == "" {
		size = fmt.Errorf("%s.vmSize: must be set, for example %s", path, systemSize)
	}
	bounds := pool.validateBounds(path)
	if bounds != nil && name == CPUPool && pool.Min == 0 && pool.Max == 0 {
		bounds = fmt.Errorf("%w: heads and submitters run there", bounds)
	}
	errs := []error{size, bounds}
	if pool.Serving && !a.Serves(name) {
		errs = append(errs, fmt.Errorf("%s.serving: must be false: every queue needs the pool for heads and submitters; "+
			"give services a pool of their own, for example infra.pools.serve", path))
	}
	return errors.Join(errs...)
}

// validateNodes refuses more nodes than there are addresses for: those of all pools at their largest, and the one that an upgrade adds.
func (a Args) validateNodes(path string) error {
	nodes := min(max(1, a.Cluster.System.Count), maxPoolNodes) + 1 // another is reported by itself
	for _, p := range a.Pools {
		if p.validateBounds(path) == nil {
			nodes += p.Max // another is reported by itself
		}
	}
	if nodes > maxClusterNodes {
		return fmt.Errorf("%s: the largest sizes of all pools, with the system pool and one node for upgrades, are %d nodes; "+
			"the cluster's address range %s holds %d: lower a max", path, nodes, podCIDR, maxClusterNodes)
	}
	return nil
}

// whyNodes says what the bound comes from, to whoever has met it.
func whyNodes(nodes int) string {
	if nodes <= maxPoolNodes {
		return ""
	}
	return fmt.Sprintf(": the cluster's address range %s holds %d nodes, those of the system pool among them", podCIDR, maxClusterNodes)
}

// validateBounds checks the number of nodes: each bound by itself, then against the one before.
func (p Pool) validateBounds(path string) error {
	switch {
	case p.Min < 0 || p.Min > maxPoolNodes:
		return fmt.Errorf("%s.min: must be between 0 and %d, got %d%s", path, maxPoolNodes, p.Min, whyNodes(p.Min))
	case p.defaultMax && p.Max < 1:
		return fmt.Errorf("%s.max: must be set, to between %d and %d: it has no default here", path, max(1, p.Min), maxPoolNodes)
	case p.defaultMax && p.Max < p.Min:
		return fmt.Errorf("%s.max: must be set too: its default is %d, and min is %d", path, p.Max, p.Min)
	case p.Max < 1 || p.Max < p.Min || p.Max > maxPoolNodes:
		least := "1"
		if p.Min > 1 {
			least = fmt.Sprintf("min %d", p.Min)
		}
		return fmt.Errorf("%s.max: must be between %s and %d, got %d%s", path, least, maxPoolNodes, p.Max, whyNodes(p.Max))
	case p.Count < p.Min || p.Count > p.Max:
		return fmt.Errorf("%s.count: must be between min %d and max %d, got %d; it is the number at creation only", path, p.Min, p.Max, p.Count)
	}
	return nil
}
