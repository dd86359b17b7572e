package workloads

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"ray-on-aks/infra/sku"
)

// validateFit refuses what could wait for ever: a run that is larger than all that the queue can ever get, and one that the queue admits
// but no nodes can hold.
func (a Args) validateFit(path, name string, w Workload, q Queue) error {
	errs := a.unfit(name, w, q)
	if len(errs) == 0 {
		return nil
	}
	fitting := sort.Search(int(w.Workers), func(n int) bool {
		fewer := w
		fewer.Workers = int32(n) + 1
		return len(a.unfit(name, fewer, q)) > 0
	})
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s: %w", path, err)
		if fitting > 0 {
			errs[i] = fmt.Errorf("%w; with workers: %d it fits", errs[i], fitting)
		}
	}
	return errors.Join(errs...)
}

// unfit places the pod sets one after another, and says which have no place. The submitter, which comes last and is small, lacks only the
// room that another takes: it is left out where another has none.
func (a Args) unfit(name string, w Workload, q Queue) []error {
	used := map[string][]podSet{}
	var errs []error
	for _, set := range jobPods(name, w) {
		if err := a.place(set, q, used); err != nil && (set.role != "submitter" || errs == nil) {
			errs = append(errs, fmt.Errorf("the %s can never run from queue %s: %w", set.role, q.Name, err))
		}
	}
	return errs
}

// place puts the set where Kueue would with an otherwise empty queue: into the first flavor that has quota for it. Kueue does not look at
// the size of nodes, so a set that these cannot hold is refused and not moved on.
func (a Args) place(set podSet, q Queue, used map[string][]podSet) error {
	candidates := set.candidates(q)
	if len(candidates) == 0 {
		return nowhere(set, q)
	}
	var why []string
	for i, f := range candidates {
		taken := sum(used[f.Name])
		tooLarge := set.tooLarge(f.Node)
		if over := taken.Plus(set.total()).Exceeds(f.Limit); len(over) > 0 {
			why = append(why, refusal(set, f, tooLarge, over, used[f.Name]))
			continue
		}
		if tooLarge != "" {
			return fmt.Errorf("%s; its quota would do, so it would be admitted there and wait%s", oneExceeds(f, tooLarge), a.elsewhere(set, candidates[i+1:]))
		}
		used[f.Name] = append(used[f.Name], set)
		if err := a.holds(f, used[f.Name]); err != nil {
			return err
		}
		return a.checkRest(set, candidates[i+1:])
	}
	return errors.New(strings.Join(why, "; "))
}

// refusal says by how much the set exceeds a flavor.
func refusal(set podSet, f Flavor, tooLarge string, over []string, there []podSet) string {
	if tooLarge != "" {
		return oneExceeds(f, tooLarge)
	}
	beside := ""
	if len(there) > 0 {
		beside = " beside " + describe(there)
	}
	return fmt.Sprintf("with %d of it%s the run exceeds what the queue can ever get of pool %s: %s; ask for less, or raise %s",
		set.count, beside, f.Name, strings.Join(over, ", "), strings.Join(f.limits(over), " and "))
}

func oneExceeds(f Flavor, over string) string {
	return fmt.Sprintf("one pod exceeds a node of pool %s: %s", f.Name, over)
}

// nowhere explains why no flavor comes into question.
func nowhere(set podSet, q Queue) error {
	names := poolNames(q.Flavors)
	switch {
	case len(names) == 0:
		return errors.New("there is no pool behind the queue; add one without serving to infra.pools")
	case set.each.GPUs > 0:
		return fmt.Errorf("it asks for %d GPUs, and no pool behind the queue has any: there is only %s; add a GPU pool to infra.pools, or set worker.gpus to 0",
			set.each.GPUs, strings.Join(names, ", "))
	default:
		return fmt.Errorf("all pools behind the queue are for pods with GPUs: %s; add one without GPUs to infra.pools", strings.Join(names, ", "))
	}
}

// elsewhere suggests the pool that holds the set.
func (a Args) elsewhere(set podSet, others []Flavor) string {
	for _, f := range others {
		if set.role == "worker" && len(set.total().Exceeds(f.Limit)) == 0 && a.holds(f, []podSet{set}) == nil {
			return fmt.Sprintf("; set pool: %s", f.Name)
		}
	}
	return "; ask for less"
}

// checkRest refuses workers for which Kueue, when the first pool is in use, could choose another whose nodes cannot hold them. Heads are
// not refused: nothing could be set to keep them where they are.
func (a Args) checkRest(set podSet, rest []Flavor) error {
	for _, f := range rest {
		if set.role != "worker" || len(set.total().Exceeds(f.Limit)) > 0 {
			continue
		}
		if err := a.holds(f, []podSet{set}); err != nil {
			return fmt.Errorf("when the pools before %s are in use it would be admitted to that one and wait: %w; set pool", f.Name, err)
		}
	}
	return nil
}

// holds checks that the nodes of f's pool have room for all the sets at the same time, beside the services that run there.
func (a Args) holds(f Flavor, sets []podSet) error {
	pool, ok := a.pool(f.Name)
	if !ok {
		return fmt.Errorf("there is no pool %s behind the flavor of that name", f.Name)
	}
	held := a.held(pool.Name)
	if packs(append(podsOf(held), podsOf(sets)...), pool) {
		return nil
	}
	beside := ""
	if len(held) > 0 {
		beside = fmt.Sprintf(", beside %s", describe(held))
	}
	last := sets[len(sets)-1]
	return fmt.Errorf("%d nodes of pool %s cannot hold %d of it at once%s, though their sum could: one node holds %s; ask for less, or raise infra.pools.%s.max",
		pool.Nodes, pool.Name, last.count, beside, onOneNode(last.each, pool.Node), pool.Name)
}

func sum(sets []podSet) sku.Resources {
	var total sku.Resources
	for _, set := range sets {
		total = total.Plus(set.total())
	}
	return total
}

func poolNames(flavors []Flavor) []string {
	names := make([]string, len(flavors))
	for i, f := range flavors {
		names[i] = f.Name
	}
	return names
}
