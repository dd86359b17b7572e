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
	case w.Kind == KindRayService && sizes:
		errs = append(errs, a.validateRoom(path, name, w))
	case w.Kind == KindRayJob && ok:
		err := a.validatePool(path, w, tenant)
		if err == nil && sizes {
			err = a.validateFit(path, w, tenant.Queue)
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

// validatePool checks that the pool that a job names is one that its queue hands out, to such pods. It suggests only pools that are.
func (a Args) validatePool(path string, w Workload, t Tenant) error {
	if w.Pool == "" {
		return nil
	}
	queued := slices.DeleteFunc(poolNames(t.Queue.Flavors), func(name string) bool { return !a.takes(name, w) })
	pool, ok := a.pool(w.Pool)
	switch _, inQueue := t.Queue.flavor(w.Pool); {
	case !ok:
		return fmt.Errorf("%s.pool: %w", path, strict.Unknown("pool", w.Pool, queued))
	case pool.Serving:
		return fmt.Errorf("%s.pool: pool %s is kept out of the queues (infra.pools.%s.serving), so no job can run there; pools for it are %s",
			path, w.Pool, w.Pool, strict.List(queued))
	case !inQueue:
		return fmt.Errorf("%s.pool: queue %s has no share of pool %s; pools for it are %s", path, t.Queue.Name, w.Pool, strict.List(queued))
	default:
		return a.checkGPUs(path, w, pool, queued)
	}
}

// takes says whether the pool's nodes take the workers: tainted ones only those with GPUs, and others have none.
func (a Args) takes(name string, w Workload) bool {
	pool, ok := a.pool(name)
	return ok && (w.Worker.GPUs > 0 || !pool.Tainted) && (w.Worker.GPUs == 0 || pool.Node.GPUs > 0)
}

// checkGPUs refuses workers that do not get onto the nodes of a pool, or find no GPU there. others are the pools that would do.
func (a Args) checkGPUs(path string, w Workload, pool Pool, others []string) error {
	switch {
	case a.takes(pool.Name, w):
		return nil
	case pool.Tainted:
		return fmt.Errorf("%s.pool: pool %s is for pods with GPUs, and worker.gpus is 0; set it, or another pool: those without GPUs are %s",
			path, pool.Name, strict.List(others))
	default:
		return fmt.Errorf("%s.pool: pool %s has no GPUs, and worker.gpus is %d; set it to 0, or another pool: those with GPUs are %s",
			path, pool.Name, w.Worker.GPUs, strict.List(others))
	}
}
