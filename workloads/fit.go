package workloads

import (
	"errors"
	"fmt"
	"strings"

	"ray-on-aks/infra/sku"
)

// podSet is a number of like pods, as Kueue counts them. A pod set is admitted whole, to one flavor.
type podSet struct {
	role  string
	count int64
	each  sku.Resources
}

// podSets lists what Kueue counts for w.
func podSets(w Workload) []podSet {
	return []podSet{
		{"head", 1, w.Head.resources()},
		{"worker", int64(w.Workers), w.Worker.resources()},
		{"submitter", 1, submitterSize.resources()},
	}
}

func (s Size) resources() sku.Resources {
	const mi = 1 << 20
	return sku.Resources{MilliCPU: s.CPUs.MilliValue(), MemoryMiB: (s.Memory.Value() + mi - 1) / mi}
}

// validateFit refuses what could wait for ever: a pod that is larger than any node, or a run that is larger than the whole quota.
func (a Args) validateFit(path string, w Workload) error {
	q, ok := a.queue(w.Queue)
	if !ok {
		names := make([]string, len(a.Queues))
		for i, q := range a.Queues {
			names[i] = q.Name
		}
		return fmt.Errorf("%s.queue: there is no queue %q, only %s", path, w.Queue, strings.Join(names, ", "))
	}
	used := map[string]sku.Resources{}
	var errs []error
	for _, set := range podSets(w) {
		if err := q.place(set, used); err != nil {
			errs = append(errs, fmt.Errorf("%s: the %s can never be admitted by queue %s: %w", path, set.role, q.Name, err))
		}
	}
	return errors.Join(errs...)
}

// place takes the set's quota from the first flavor that has room for it, as Kueue does with an otherwise empty queue.
func (q Queue) place(set podSet, used map[string]sku.Resources) error {
	var why []error
	for _, f := range q.Flavors {
		if over := set.each.Exceeds(f.Node); len(over) > 0 {
			why = append(why, fmt.Errorf("one pod exceeds a node of pool %s: %s", f.Name, strings.Join(over, ", ")))
			continue
		}
		total := used[f.Name].Plus(set.each.Times(set.count))
		if over := total.Exceeds(f.Quota); len(over) > 0 {
			why = append(why, fmt.Errorf("with %d of it the run exceeds the quota of pool %s: %s", set.count, f.Name, strings.Join(over, ", ")))
			continue
		}
		used[f.Name] = total
		return nil
	}
	if len(why) == 0 {
		return errors.New("there is no pool behind the queue")
	}
	return errors.Join(why...)
}
