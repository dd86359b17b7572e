package workloads

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

// services lists the names of the enabled services that have room, in a fixed order: each beside those before it. What is refused holds
// nothing, or jobs would be refused as well that run once it is mended.
func (a Args) services() []string {
	var there []string
	for _, name := range a.Declared.enabled() {
		w := a.Declared[name]
		if w.Kind == KindRayService && w.validateSizes(name) == nil && w.checkDevice(name) == nil && a.checkRooms(name, name, w, there) == nil {
			there = append(there, name)
		}
	}
	return there
}

// holdings lists what the services have on a pool, in the order of their names, after those of the host.
func (a Args) holdings(pool string, services []string) []podSet {
	held := a.Host.on(pool)
	for _, name := range services {
		head, worker := a.servicePods(name, a.Declared[name])
		for _, set := range []podSet{head, worker} {
			if set.pool == pool {
				held = append(held, set)
			}
		}
	}
	return held
}

// held lists what all services have on a pool.
func (a Args) held(pool string) []podSet { return a.holdings(pool, a.services()) }

// describe names what services have.
func describe(held []podSet) string {
	words := make([]string, len(held))
	for i, s := range held {
		words[i] = fmt.Sprintf("the %s of %s (%d of %dm CPU, %dMi and %d GPUs)", s.role, s.workload, s.count, s.each.MilliCPU, s.each.MemoryMiB, s.each.GPUs)
	}
	return strings.Join(words, ", ")
}

// Reserved is what enabled services hold, by pool. No queue counts them, so main takes it off the quotas.
func (a Args) Reserved() map[string]sku.Resources {
	total := map[string]sku.Resources{}
	for _, name := range a.services() {
		head, worker := a.servicePods(name, a.Declared[name])
		for _, set := range []podSet{head, worker} {
			total[set.pool] = total[set.pool].Plus(set.total())
		}
	}
	return total
}

// holdsTwice reports whether a second cluster of the service has room beside all that services hold. On a pool that the queues share, jobs
// may have taken that room, so there it has none. The second head is on the CPU pool in any case: there it may have to wait for a job's to
// end, while the first cluster goes on serving.
func (a Args) holdsTwice(w Workload) bool {
	head, worker := a.servicePods("", w)
	pool, ok := a.pool(worker.pool)
	cpu, okCPU := a.pool(head.pool)
	return ok && okCPU && pool.Serving &&
		packs(podsOf(append(a.held(pool.Name), worker)), pool) && packs(podsOf(append(a.held(cpu.Name), head)), cpu)
}

// validateRoom refuses a service whose pods no node can hold, or that has more of them than its pool can hold beside the services that come
// before it by name.
func (a Args) validateRoom(path, name string, w Workload) error {
	return a.checkRooms(path, name, w, slices.DeleteFunc(a.services(), func(other string) bool { return other >= name }))
}

// checkRooms does so for a service beside others.
func (a Args) checkRooms(path, name string, w Workload, before []string) error {
	cpu, ok := a.pool(a.CPUPool)
	if !ok {
		return fmt.Errorf("%s: there is no pool %q, on which the heads of services run", path, a.CPUPool)
	}
	head, worker := a.servicePods(name, w)
	pool, serving, err := a.servicePool(path, worker)
	if err != nil || pool.Name == "" {
		return err
	}
	if err := a.checkService(path, head, pool, before, serving); err != nil {
		return err
	}
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
	return errors.Join(
		checkRoom(path+".head", cpu, a.holdings(cpu.Name, before), head),
		checkRoom(path+".workers", pool, a.holdings(pool.Name, before), worker))
}

// checkRoom refuses more pods than the pool holds beside those that are there.
func checkRoom(path string, pool Pool, there []podSet, more podSet) error {
	count := int(more.count)
	fitting := sort.Search(count, func(n int) bool {
		return !packs(append(podsOf(there), slices.Repeat([]sku.Resources{more.each}, n+1)...), pool)
	})
	if fitting == count || !packs(podsOf(there), pool) {
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
		path, pool.Nodes, pool.Name, fitting, beside, count, less, pool.Name)
}

// servicePool returns the pool that the service names, if infra does not refuse it, and those that are kept for services. It suggests only
// pools whose nodes take its workers.
func (a Args) servicePool(path string, worker podSet) (pool Pool, serving []string, err error) {
	var all []string
	for _, p := range a.Pools {
		if !worker.takenBy(p.Node, p.Tainted) || slices.Contains(a.Refused, p.Name) {
			continue
		}
		all = append(all, p.Name)
		if p.Serving {
			serving = append(serving, p.Name)
		}
	}
	if worker.pool == "" {
		return Pool{}, nil, fmt.Errorf("%s.pool: must be set, since no queue chooses one for a service; pools for services are %s (infra.pools.<name>.serving)",
			path, strict.List(serving))
	}
	pool, ok := a.pool(worker.pool)
	if !ok {
		return Pool{}, nil, a.unknown(path+".pool", "pool", worker.pool, all, "infra.pools")
	}
	return pool, serving, checkGPUs(path, worker, pool, all)
}
