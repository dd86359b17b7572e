package workloads

import (
	"fmt"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

// Host is what the stack of the platform has there itself, where that is another stack: what these workloads have to leave to it.
type Host struct {
	// Stack is its name, for messages.
	Stack string `json:"-"`
	// Runs are the namespaces of its runs and services, by workload.
	Runs map[string]string `json:"runs,omitempty"`
	// Holdings are what its services have outside the queues.
	Holdings []Holding `json:"holdings,omitempty"`
	// Spare is what its queues never hand out, by pool. It is all that services of other stacks may take of a pool which the queues share,
	// since nothing takes it off the quotas.
	Spare map[string]sku.Resources `json:"spare,omitempty"`
}

// Holding is a number of like pods of a service.
type Holding struct {
	// Workload is the service's name, and Role head or worker.
	Workload string `json:"workload"`
	Role     string `json:"role"`
	// Count is how many pods there are, and Each what one takes.
	Count int64         `json:"count"`
	Each  sku.Resources `json:"each"`
	// Pool is where they are.
	Pool string `json:"pool"`
}

// Holdings lists what enabled services have, in the order of their names: what other stacks have to leave them.
func (a Args) Holdings() []Holding {
	var all []Holding
	for _, name := range a.services() {
		head, worker := a.servicePods(name, a.Declared[name])
		for _, s := range []podSet{head, worker} {
			all = append(all, Holding{Workload: s.workload, Role: s.role, Count: s.count, Each: s.each, Pool: s.pool})
		}
	}
	return all
}

// on lists what the host's services have on a pool; there is none where the platform is this stack's own.
func (h *Host) on(pool string) []podSet {
	if h == nil {
		return nil
	}
	var held []podSet
	for _, s := range h.Holdings {
		if s.Pool == pool {
			held = append(held, podSet{workload: s.Workload, role: s.Role, count: s.Count, each: s.Each, pool: s.Pool})
		}
	}
	return held
}

// checkName refuses a workload that the host runs in the same namespace: a service's object has no other name, nor has that of a run of
// the same intent, and what two stacks have made, either would delete.
func (h *Host) checkName(path, name string, t Tenant) error {
	if h == nil || h.Runs[name] != t.Namespace {
		return nil
	}
	return fmt.Errorf("%s: stack %s has a workload of this name for team %s as well; give it another name, or disable it there", path, h.Stack, t.Name)
}

// checkService refuses a service that would take what the host's queues hand out: workers on a pool of theirs, and a head, which is on
// the CPU pool, beyond what they leave of it. before are the services whose heads are there already, and serving the pools for services.
func (a Args) checkService(path string, head podSet, pool Pool, before, serving []string) error {
	if a.Host == nil {
		return nil
	}
	if !pool.Serving {
		return fmt.Errorf("%s.pool: pool %s is shared with the queues of stack %s, which count no service of another stack; pools for services are %s "+
			"(infra.pools.<name>.serving)", path, pool.Name, a.Host.Stack, strict.List(serving))
	}
	taken := head.total()
	for _, name := range before {
		other, _ := a.servicePods(name, a.Declared[name])
		taken = taken.Plus(other.total())
	}
	over := taken.Exceeds(a.Host.Spare[head.pool])
	if len(over) == 0 {
		return nil
	}
	return fmt.Errorf("%s.head: the heads of services are on pool %s, outside the queues, and exceed what those of stack %s leave of it: %s; "+
		"have queues.quota.%s leave more, or enable the service there", path, head.pool, a.Host.Stack, strings.Join(over, ", "), head.pool)
}
