package workloads

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/util/validation"
)

// validateOnStack checks what depends on the rest of the stack: that all that w names exists, and that its pods fit. They are counted
// only where sizes says that they can be.
func (a Args) validateOnStack(path, name string, w Workload, sizes bool) error {
	var errs []error
	tenant, ok := a.tenant(w.Team)
	switch {
	case w.Team == "":
		errs = append(errs, fmt.Errorf("%s.team: must be set, since there are several teams: %s", path, strict.List(strict.Without(a.teams(), a.Refused))))
	case !ok:
		errs = append(errs, a.unknown(path+".team", "team", w.Team, a.teams(), "queues.teams"))
	default:
		errs = append(errs, a.Host.checkName(path, name, tenant))
	}
	if w.Kind == KindRayJob && !slices.Contains(a.Priorities, w.Priority) {
		errs = append(errs, a.unknown(path+".priority", "priority", w.Priority, a.Priorities, "queues.priorities"))
	}
	switch {
	case w.checkDevice(path) != nil:
		// Reported by itself. Which pools are for it is open until it is mended.
	case w.Kind == KindRayService && sizes:
		errs = append(errs, a.validateRoom(path, name, w))
	case w.Kind == KindRayJob && !ok:
		// Which queue it waits in is open, and so what of a pool it can have. Whether there is such a pool is not.
		if _, there := a.pool(w.Pool); !there && w.Pool != "" {
			errs = append(errs, a.unknown(path+".pool", "pool", w.Pool, a.queued(workerPods(name, w)), "infra.pools"))
		}
	case w.Kind == KindRayJob:
		err := a.validatePool(path, workerPods(name, w), tenant.Queue)
		if _, there := a.pool(w.Pool); err == nil && sizes && (there || w.Pool == "") {
			err = a.validateFit(path, name, w, tenant.Queue)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unknown is the error for a name that another part does not declare under the key, or nothing where it refuses what was meant. It suggests
// what would be accepted, or where there is nothing near it, to declare it.
func (a Args) unknown(path, kind, name string, would []string, key string) error {
	if strict.Same(name, a.Refused) {
		return nil
	}
	would = strict.Without(would, a.Refused)
	hint := strict.Hint(name, would)
	switch declare := canBe(kind, name); {
	case strict.Nearest(name, would) != "":
	case declare && len(would) == 0:
		hint = "; add it to " + key
	case declare && kind == "container":
		hint = fmt.Sprintf("; add it to %s, or take one of %s", key, strict.List(would))
	case len(would) == 0:
		hint = "; leave it out"
	}
	return fmt.Errorf("%s: there is no %s %q%s", path, kind, name, hint)
}

// canBe says whether the part that declares a kind of thing would take the name.
func canBe(kind, name string) bool {
	switch {
	case len(validation.IsDNS1123Label(name)) > 0:
		return false
	case kind == "pool":
		return len(name) <= 12 && !strings.Contains(name, "-") && name[0] >= 'a'
	case kind == "container":
		return len(name) >= 3 && !strings.Contains(name, "--")
	}
	return true
}

func (a Args) teams() []string {
	names := make([]string, len(a.Tenants))
	for i, t := range a.Tenants {
		names[i] = t.Name
	}
	return names
}

// queued lists the pools of which queues can hand out nodes that take such pods.
func (a Args) queued(set podSet) []string {
	var names []string
	for _, p := range a.Pools {
		if !p.Serving && set.takenBy(p.Node, p.Tainted) {
			names = append(names, p.Name)
		}
	}
	return names
}

// validatePool checks that the pool that a job's workers name is one that its queue hands out, to such pods. It suggests only pools that
// are.
func (a Args) validatePool(path string, worker podSet, q Queue) error {
	if worker.pool == "" {
		return nil
	}
	anywhere := worker
	anywhere.pool = ""
	queued := strict.Without(poolNames(anywhere.candidates(q)), a.Refused)
	pool, ok := a.pool(worker.pool)
	switch _, inQueue := q.flavor(worker.pool); {
	case !ok:
		return a.unknown(path+".pool", "pool", worker.pool, queued, "infra.pools")
	case pool.Serving:
		return fmt.Errorf("%s.pool: pool %s is kept out of the queues (infra.pools.%s.serving), so no job can run there; pools for it are %s",
			path, worker.pool, worker.pool, strict.List(queued))
	case !inQueue:
		return fmt.Errorf("%s.pool: queue %s has no share of pool %s; pools for it are %s", path, q.Name, worker.pool, strict.List(queued))
	default:
		return checkGPUs(path, worker, pool, queued)
	}
}

// checkGPUs refuses workers that do not get onto the nodes of a pool, or find no GPU there. others are the pools that would do.
func checkGPUs(path string, worker podSet, pool Pool, others []string) error {
	switch {
	case worker.takenBy(pool.Node, pool.Tainted):
		return nil
	case pool.Tainted:
		return fmt.Errorf("%s.pool: pool %s is for pods with GPUs, and worker.gpus is 0; set it, or another pool: those without GPUs are %s",
			path, pool.Name, strict.List(others))
	default:
		return fmt.Errorf("%s.pool: pool %s has no GPUs, and worker.gpus is %d; set it to 0, or another pool: those with GPUs are %s",
			path, pool.Name, worker.each.GPUs, strict.List(others))
	}
}
