package workloads

import (
	"errors"
	"fmt"
	"slices"

	"ray-on-aks/internal/strict"
)

// validateOnStack checks what depends on the rest of the stack: that all that w names exists, and that its pods fit. They are counted
// only where sizes says that they can be.
func (a Args) validateOnStack(path, name string, w Workload, sizes bool) error {
	var errs []error
	tenant, ok := a.tenant(w.Team)
	switch {
	case w.Team == "":
		errs = append(errs, fmt.Errorf("%s.team: must be set, since there are several teams: %s", path, strict.List(a.teams())))
	case !ok:
		errs = append(errs, fmt.Errorf("%s.team: %w", path, strict.Unknown("team", w.Team, a.teams())))
	}
	if w.Kind == KindRayJob && !slices.Contains(a.Priorities, w.Priority) {
		errs = append(errs, fmt.Errorf("%s.priority: %w (queues.priorities)", path, strict.Unknown("priority", w.Priority, a.Priorities)))
	}
	switch {
	case w.checkDevice(path) != nil:
		// Reported by itself. Which pools are for it is open until it is mended.
	case w.Kind == KindRayService && sizes:
		errs = append(errs, a.validateRoom(path, name, w))
	case w.Kind == KindRayJob && ok:
		err := a.validatePool(path, workerPods(name, w), tenant.Queue)
		if err == nil && sizes {
			err = a.validateFit(path, name, w, tenant.Queue)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (a Args) teams() []string {
	names := make([]string, len(a.Tenants))
	for i, t := range a.Tenants {
		names[i] = t.Name
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
	queued := poolNames(anywhere.candidates(q))
	pool, ok := a.pool(worker.pool)
	switch _, inQueue := q.flavor(worker.pool); {
	case !ok:
		return fmt.Errorf("%s.pool: %w", path, strict.Unknown("pool", worker.pool, queued))
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
