package workloads

import (
	"cmp"
	"fmt"
	"slices"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

// Warnings say what works but costs more, or is slower, than it looks. They are for a configuration that is valid.
func (a Args) Warnings() []string {
	var warnings []string
	for _, name := range a.Declared.enabled() {
		w := a.resolved(a.Declared[name])
		switch w.Kind {
		case KindRayService:
			warnings = append(warnings, a.keepsUp(name, w))
		default:
			if slow := a.apart(name, w); slow != "" {
				warnings = append(warnings, slow)
			}
		}
	}
	return append(warnings, a.installWarnings()...)
}

// keepsUp tells what a service costs for as long as it is enabled.
func (a Args) keepsUp(name string, w Workload) string {
	what := fmt.Sprintf("%d GPUs", int64(w.Workers)*w.Worker.GPUs)
	if w.Worker.GPUs == 0 {
		what = fmt.Sprintf("%d workers of %s cores", w.Workers, w.Worker.CPUs.String())
	}
	warning := fmt.Sprintf("workloads.%s: keeps %s of pool %s up as long as it is enabled; queues do not count them", name, what, w.Pool)
	if pool, ok := a.pool(w.Pool); ok && !pool.Serving {
		warning += ", so they are taken off that pool's quota"
	}
	return warning
}

// apart finds workers that will be on several nodes though a node of another size has GPUs for all of them. Between nodes they talk by
// TCP: this program sets up no RDMA.
func (a Args) apart(name string, w Workload) string {
	total := int64(w.Workers) * w.Worker.GPUs
	if w.Workers < 2 || w.Worker.GPUs == 0 {
		return ""
	}
	tenant, _ := a.tenant(w.Team)
	var most int64
	var pools []string
	for _, f := range workerPods(name, w).candidates(tenant.Queue) {
		most = max(most, f.Node.GPUs)
		pools = append(pools, f.Name)
	}
	larger := slices.DeleteFunc(slices.Clone(a.Sizes), func(s sku.SKU) bool { return s.GPUs < total })
	if most >= total || len(larger) == 0 {
		return ""
	}
	smallest := slices.MinFunc(larger, func(x, y sku.SKU) int { return cmp.Or(cmp.Compare(x.GPUs, y.GPUs), cmp.Compare(x.Name, y.Name)) })
	return fmt.Sprintf("workloads.%s: its %d workers have %d GPUs together and no node of pool %s has more than %d, "+
		"so its workers will talk over TCP; a node of %s has %d", name, w.Workers, total, strict.List(pools), most, smallest.Name, smallest.GPUs)
}
