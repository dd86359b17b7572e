package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

// services lists the names of the enabled services whose sizes can be counted, in a fixed order.
func (a Args) services() []string {
	return slices.DeleteFunc(a.Declared.enabled(), func(name string) bool {
		w := a.Declared[name]
		return w.Kind != KindRayService || w.validateSizes(name) != nil
	})
}

// holding is what a service has on a pool.
type holding struct {
	// service is the workload's name.
	service string
	// role is head or worker, and count how many.
	role  string
	count int
	// each is what one takes of a node.
	each sku.Resources
}

// holdings lists what the services have on a pool, in the order of their names.
func (a Args) holdings(pool string, services []string) []holding {
	var held []holding
	for _, name := range services {
		w := a.Declared[name]
		if pool == a.CPUPool {
			held = append(held, holding{name, "head", 1, headPod(w)})
		}
		if pool == w.Pool {
			held = append(held, holding{name, "worker", int(w.Workers), workerPod(w)})
		}
	}
	return held
}

// held lists what all services have on a pool.
func (a Args) held(pool string) []holding { return a.holdings(pool, a.services()) }

func headPod(w Workload) sku.Resources   { return withCaches(w.Head.resources(), len(w.Storage)) }
func workerPod(w Workload) sku.Resources { return withCaches(w.Worker.resources(), len(w.Storage)) }

// podsOf lists the pods one by one.
func podsOf(held []holding) []sku.Resources {
	var pods []sku.Resources
	for _, h := range held {
		pods = append(pods, slices.Repeat([]sku.Resources{h.each}, h.count)...)
	}
	return pods
}

// describe names what services have.
func describe(held []holding) string {
	words := make([]string, len(held))
	for i, h := range held {
		words[i] = fmt.Sprintf("the %s of %s (%d of %dm CPU, %dMi and %d GPUs)", h.role, h.service, h.count, h.each.MilliCPU, h.each.MemoryMiB, h.each.GPUs)
	}
	return strings.Join(words, ", ")
}

// Reserved is what enabled services hold, by pool. No queue counts them, so main takes it off the quotas.
func (a Args) Reserved() map[string]sku.Resources {
	total := map[string]sku.Resources{}
	for _, name := range a.services() {
		w := a.Declared[name]
		total[a.CPUPool] = total[a.CPUPool].Plus(headPod(w))
		total[w.Pool] = total[w.Pool].Plus(workerPod(w).Times(int64(w.Workers)))
	}
	return total
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
		packs(podsOf(append(a.held(pool.Name), holding{each: workerPod(w), count: int(w.Workers)})), pool) &&
		packs(podsOf(append(a.held(cpu.Name), holding{each: headPod(w), count: 1})), cpu)
}

// validateRoom refuses a service whose pods no node can hold, or that has more of them than its pool can hold beside the services that come
// before it by name.
func (a Args) validateRoom(path, name string, w Workload) error {
	cpu, ok := a.pool(a.CPUPool)
	if !ok {
		return fmt.Errorf("%s: there is no pool %q, on which the heads of services run", path, a.CPUPool)
	}
	pool, err := a.servicePool(path, w)
	if err != nil {
		return err
	}
	head, worker := podSets(w)[0], podSets(w)[1]
	var errs []error
	if over := head.tooLarge(cpu.Node); over != "" {
		errs = append(errs, fmt.Errorf("%s.head: exceeds a node of pool %s, on which the heads of services run: %s; ask for less", path, cpu.Name, over))
	}
	if over := worker.tooLarge(pool.Node); over != "" {
		errs = append(errs, fmt.Errorf("%s.worker: one pod exceeds a node of pool %s: %s; ask for less, or set another pool", path, pool.Name, over))
	}
	if errs != nil {
		return errors.Join(errs...)
	}
	before := slices.DeleteFunc(a.services(), func(other string) bool { return other >= name })
	return errors.Join(
		checkRoom(path+".head", cpu, a.holdings(cpu.Name, before), holding{name, "head", 1, headPod(w)}),
		checkRoom(path+".workers", pool, a.holdings(pool.Name, before), holding{name, "worker", int(w.Workers), workerPod(w)}))
}

// checkRoom refuses more pods than the pool holds beside those that are there.
func checkRoom(path string, pool Pool, there []holding, more holding) error {
	fitting := sort.Search(more.count, func(n int) bool {
		return !packs(append(podsOf(there), slices.Repeat([]sku.Resources{more.each}, n+1)...), pool)
	})
	if fitting == more.count || !packs(podsOf(there), pool) {
		return nil // or what is there is refused itself
	}
	beside := ""
	if len(there) > 0 {
		beside = " beside " + describe(there)
	}
	less := "ask for less"
	if fitting > 0 {
		less = "ask for fewer"
	}
	return fmt.Errorf("%s: %d nodes of pool %s hold at most %d such pods%s, got %d; %s, or raise infra.pools.%s.max",
		path, pool.Nodes, pool.Name, fitting, beside, more.count, less, pool.Name)
}

// servicePool returns the pool that the service names. It suggests only pools whose nodes take its workers.
func (a Args) servicePool(path string, w Workload) (Pool, error) {
	var all, serving []string
	for _, p := range a.Pools {
		if !a.takes(p.Name, w) {
			continue
		}
		all = append(all, p.Name)
		if p.Serving {
			serving = append(serving, p.Name)
		}
	}
	if w.Pool == "" {
		return Pool{}, fmt.Errorf("%s.pool: must be set, since no queue chooses one for a service; pools for services are %s (infra.pools.<name>.serving)",
			path, strict.List(serving))
	}
	pool, ok := a.pool(w.Pool)
	if !ok {
		return Pool{}, fmt.Errorf("%s.pool: %w", path, strict.Unknown("pool", w.Pool, all))
	}
	return pool, a.checkGPUs(path, w, pool, all)
}
