package workloads

import (
	"errors"
	"fmt"
	"slices"
)

// validateOnStack checks what depends on the rest of the stack: that all that w names exists, and that its pods fit. They are counted
// only where sizes says that they can be.
func (a Args) validateOnStack(path string, w Workload, sizes bool) error {
	var errs []error
	tenant, ok := a.tenant(w.Team)
	switch {
	case w.Team == "":
		errs = append(errs, fmt.Errorf("%s.team: must be set, since there are several teams: %s", path, listed(a.teams())))
	case !ok:
		errs = append(errs, fmt.Errorf("%s.team: %w", path, unknownName("team", w.Team, a.teams())))
	}
	if w.Kind == KindRayJob && !slices.Contains(a.Priorities, w.Priority) {
		errs = append(errs, fmt.Errorf("%s.priority: %w (queues.priorities)", path, unknownName("priority", w.Priority, a.Priorities)))
	}
	for _, name := range w.Storage {
		if !slices.Contains(a.Containers, name) {
			errs = append(errs, fmt.Errorf("%s.storage: %w (infra.storage.containers)", path, unknownName("container", name, a.Containers)))
		}
	}
	switch {
	case w.Kind == KindRayService && sizes:
		errs = append(errs, a.validateRoom(path, w))
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

// validatePool checks that the pool that a job names is one that its queue hands out, to such pods.
func (a Args) validatePool(path string, w Workload, t Tenant) error {
	if w.Pool == "" {
		return nil
	}
	queued := poolNames(t.Queue.Flavors)
	pool, ok := a.pool(w.Pool)
	switch f, inQueue := t.Queue.flavor(w.Pool); {
	case !ok:
		return fmt.Errorf("%s.pool: %w", path, unknownName("pool", w.Pool, queued))
	case pool.Serving:
		return fmt.Errorf("%s.pool: pool %s is kept out of the queues (infra.pools.%s.serving), so no job can run there; pools for jobs are %s",
			path, w.Pool, w.Pool, listed(queued))
	case !inQueue:
		return fmt.Errorf("%s.pool: queue %s has no share of pool %s, only of %s", path, t.Queue.Name, w.Pool, listed(queued))
	default:
		return checkTaint(path, w, f.Name, f.Tainted)
	}
}

// checkTaint refuses workers that do not get onto the nodes of a pool, or find no GPU there.
func checkTaint(path string, w Workload, pool string, tainted bool) error {
	if tainted && w.Worker.GPUs == 0 {
		return fmt.Errorf("%s.pool: pool %s is for pods with GPUs, and worker.gpus is 0; set it, or another pool", path, pool)
	}
	return nil
}
