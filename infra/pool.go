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

// Pool declares a node pool under the cluster autoscaler.
type Pool struct {
	// VMSize is a size of infra/sku or of `skus`. The nodes of a size with GPUs are tainted, so that only pods that ask for GPUs come.
	VMSize string `json:"vmSize"`
	// Min and Max bound the number of nodes; Min may be 0.
	Min int `json:"min"`
	// Max is also what the queues' quota is derived from.
	Max int `json:"max"`
	// Count is the number of nodes at creation, between Min and Max. Later changes are ignored: the autoscaler owns it.
	Count int `json:"count"`
	// Zones are where the nodes are. Default: none; all three for prod's cpu pool. A size that only some zones of the region have
	// needs those, or its nodes never come. Changing them replaces the pool.
	Zones Zones `json:"zones"`
	// Serving keeps the pool out of the queues: RayServices run there, which no queue admits. Default: false.
	Serving bool `json:"serving"`
}

// Pools are node pools by name.
type Pools map[string]Pool

// UnmarshalJSON decodes onto the pools that are there, so that a stack file says only what differs from the defaults.
func (p *Pools) UnmarshalJSON(data []byte) error {
	return strict.Merge(p, data, func(pool Pool, _ bool, _ json.RawMessage) (Pool, error) { return pool, nil })
}

// Names lists the pools in a fixed order.
func (p Pools) Names() []string { return slices.Sorted(maps.Keys(p)) }

// hasGPUs says whether the pool's nodes have GPUs. An unknown size has none here: validation reports it.
func (a Args) hasGPUs(p Pool) bool {
	size, err := a.SKU(p)
	return err == nil && size.GPUs > 0
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
	for _, name := range a.Pools.Names() {
		at := path + "." + name
		errs = append(errs, ruleAgentPool.check(at, name))
		if name == systemPoolName {
			errs = append(errs, fmt.Errorf("%s: is the name of the cluster's own system pool", at))
		}
		errs = append(errs, a.checkSize(at+".vmSize", a.Pools[name].VMSize), a.Pools[name].validate(at))
	}
	return errors.Join(append(errs, a.validateCPUPool(path+"."+CPUPool), a.validateNodes(path))...)
}

// validateNodes refuses more nodes than there are addresses for: those of all pools at their largest, and the one that an upgrade adds.
func (a Args) validateNodes(path string) error {
	nodes := a.Cluster.System.Count + 1
	for _, p := range a.Pools {
		nodes += p.Max
	}
	if nodes > maxClusterNodes {
		return fmt.Errorf("%s: the largest sizes of all pools, with the system pool and one node for upgrades, are %d nodes; "+
			"the cluster's address range %s holds %d: lower a max", path, nodes, podCIDR, maxClusterNodes)
	}
	return nil
}

// validateCPUPool keeps the pool open to heads and submitters: they are queued, and tolerate no taint.
func (a Args) validateCPUPool(path string) error {
	pool := a.Pools[CPUPool]
	var errs []error
	if a.hasGPUs(pool) {
		errs = append(errs, fmt.Errorf("%s.vmSize: must be a size without GPUs, got %s: heads and submitters run there and never on GPU nodes; "+
			"give GPUs a pool of their own, for example infra.pools.gpu", path, pool.VMSize))
	}
	if pool.Serving {
		errs = append(errs, fmt.Errorf("%s.serving: must be false: every queue needs the pool for heads and submitters; "+
			"give services a pool of their own, for example infra.pools.serve", path))
	}
	return errors.Join(errs...)
}

func (p Pool) validate(path string) error {
	errs := []error{p.Zones.validate(path + ".zones")}
	if p.Min < 0 {
		errs = append(errs, fmt.Errorf("%s.min: must not be negative, got %d", path, p.Min))
	}
	if p.Max < 1 || p.Max < p.Min || p.Max > maxNodes {
		errs = append(errs, fmt.Errorf("%s.max: must be between max(1, min) and %d, got %d", path, maxNodes, p.Max))
	}
	if p.Count < p.Min || p.Count > p.Max {
		errs = append(errs, fmt.Errorf("%s.count: must be between min %d and max %d, got %d; it is the number at creation only", path, p.Min, p.Max, p.Count))
	}
	return errors.Join(errs...)
}
