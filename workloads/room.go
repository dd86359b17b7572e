package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ray-on-aks/infra/sku"
)

// services lists the names of the enabled services whose sizes can be counted, in a fixed order.
func (a Args) services() []string {
	return slices.DeleteFunc(a.Declared.enabled(), func(name string) bool {
		w := a.Declared[name]
		return w.Kind != KindRayService || w.validateSizes(name) != nil
	})
}

// Reserved is what enabled services hold, by pool. No queue counts them, so main takes it off the quotas.
func (a Args) Reserved() map[string]sku.Resources {
	held := map[string]sku.Resources{}
	for _, name := range a.services() {
		w := a.Declared[name]
		held[a.CPUPool] = held[a.CPUPool].Plus(w.Head.resources())
		held[w.Pool] = held[w.Pool].Plus(w.Worker.resources().Times(int64(w.Workers)))
	}
	return held
}

// servicePods lists the pods that enabled services have on a pool.
func (a Args) servicePods(pool string) []sku.Resources {
	var pods []sku.Resources
	for _, name := range a.services() {
		w := a.Declared[name]
		if pool == a.CPUPool {
			pods = append(pods, w.Head.resources())
		}
		if pool == w.Pool {
			pods = append(pods, workerPods(w)...)
		}
	}
	return pods
}

func workerPods(w Workload) []sku.Resources {
	return slices.Repeat([]sku.Resources{w.Worker.resources()}, int(w.Workers))
}

// packs reports whether the pool's nodes, at its maximum size, can hold the pods at the same time. It puts the largest first, each onto
// the first node with room. The scheduler may spread them and leave room on no node; Kueue then takes the run back and tries again.
func packs(pods []sku.Resources, pool Pool) bool {
	ordered := slices.SortedFunc(slices.Values(pods), func(x, y sku.Resources) int {
		return -cmp.Or(cmp.Compare(x.GPUs, y.GPUs), cmp.Compare(x.MemoryMiB, y.MemoryMiB), cmp.Compare(x.MilliCPU, y.MilliCPU))
	})
	var nodes []sku.Resources
	for _, pod := range ordered {
		i := slices.IndexFunc(nodes, func(used sku.Resources) bool { return within(used.Plus(pod), pool.Node) })
		switch {
		case i >= 0:
			nodes[i] = nodes[i].Plus(pod)
		case len(nodes) < pool.Nodes && within(pod, pool.Node):
			nodes = append(nodes, pod)
		default:
			return false
		}
	}
	return true
}

func within(r, limit sku.Resources) bool {
	return r.MilliCPU <= limit.MilliCPU && r.MemoryMiB <= limit.MemoryMiB && r.GPUs <= limit.GPUs
}

// perNode is how many such pods one node holds.
func perNode(pod, node sku.Resources) int64 {
	most := min(node.MilliCPU/max(1, pod.MilliCPU), node.MemoryMiB/max(1, pod.MemoryMiB))
	if pod.GPUs > 0 {
		most = min(most, node.GPUs/pod.GPUs)
	}
	return most
}

// holdsTwice reports whether a second cluster of the service has room beside all that services hold. On a pool that the queues share, jobs
// may have taken that room, so there it has none. The second head is on the CPU pool in any case: there it may have to wait for a job's to
// end, while the first cluster goes on serving.
func (a Args) holdsTwice(w Workload) bool {
	pool, ok := a.pool(w.Pool)
	cpu, okCPU := a.pool(a.CPUPool)
	return ok && okCPU && pool.Serving &&
		packs(append(a.servicePods(pool.Name), workerPods(w)...), pool) &&
		packs(append(a.servicePods(cpu.Name), w.Head.resources()), cpu)
}

// validateRoom refuses a service whose pods no node can hold, or that has more of them than its pool can hold.
func (a Args) validateRoom(path string, w Workload) error {
	cpu, ok := a.pool(a.CPUPool)
	if !ok {
		return fmt.Errorf("%s: there is no pool %q, on which the heads of services run", path, a.CPUPool)
	}
	pool, err := a.servicePool(path, w)
	if err != nil {
		return err
	}
	var errs []error
	if over := w.Head.resources().Exceeds(cpu.Node); len(over) > 0 {
		errs = append(errs, fmt.Errorf("%s.head: exceeds a node of pool %s, on which the heads of services run: %s; ask for less",
			path, cpu.Name, strings.Join(over, ", ")))
	}
	if over := w.Worker.resources().Exceeds(pool.Node); len(over) > 0 {
		errs = append(errs, fmt.Errorf("%s.worker: one pod exceeds a node of pool %s: %s; ask for less, or set another pool",
			path, pool.Name, strings.Join(over, ", ")))
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	if !packs(a.servicePods(cpu.Name), cpu) {
		errs = append(errs, fmt.Errorf("%s.head: %d nodes of pool %s cannot hold the heads of all services; raise infra.pools.%s.max",
			path, cpu.Nodes, cpu.Name, cpu.Name))
	}
	if !packs(a.servicePods(pool.Name), pool) {
		alone := sort.Search(int(w.Workers), func(n int) bool {
			return !packs(slices.Repeat([]sku.Resources{w.Worker.resources()}, n+1), pool)
		})
		errs = append(errs, fmt.Errorf("%s.workers: %d nodes of pool %s hold at most %d such pods, less what other services have there, got %d; "+
			"ask for fewer, or raise infra.pools.%s.max", path, pool.Nodes, pool.Name, alone, w.Workers, pool.Name))
	}
	return errors.Join(errs...)
}

// servicePool returns the pool that the service names.
func (a Args) servicePool(path string, w Workload) (Pool, error) {
	var all, serving []string
	for _, p := range a.Pools {
		all = append(all, p.Name)
		if p.Serving {
			serving = append(serving, p.Name)
		}
	}
	if w.Pool == "" {
		return Pool{}, fmt.Errorf("%s.pool: must be set, since no queue chooses one for a service; pools for services are %s (infra.pools.<name>.serving)",
			path, listed(serving))
	}
	pool, ok := a.pool(w.Pool)
	if !ok {
		return Pool{}, fmt.Errorf("%s.pool: %w", path, unknownName("pool", w.Pool, all))
	}
	return pool, checkTaint(path, w, pool.Name, pool.Tainted)
}
