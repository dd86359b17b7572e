package workloads

import (
	"cmp"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
)

// podSet is a number of like pods of one workload, as Kueue counts them for a job. A pod set is admitted whole, to one flavor.
type podSet struct {
	// workload is the workload's name.
	workload string
	// role is head, worker or submitter.
	role  string
	count int64
	each  sku.Resources
	// pool is the only pool that it may be on; empty for any.
	pool string
}

// jobPods lists what Kueue counts for a job, in Kueue's order.
func jobPods(name string, w Workload) []podSet {
	return []podSet{
		{workload: name, role: "head", count: 1, each: w.Head.resources()},
		workerPods(name, w),
		{workload: name, role: "submitter", count: 1, each: submitterSize.resources()},
	}
}

// servicePods are what a service has: its head runs on the CPU pool.
func (a Args) servicePods(name string, w Workload) (head, worker podSet) {
	return podSet{workload: name, role: "head", count: 1, each: w.Head.resources(), pool: a.CPUPool}, workerPods(name, w)
}

func workerPods(name string, w Workload) podSet {
	return podSet{workload: name, role: "worker", count: int64(w.Workers), each: w.Worker.resources(), pool: w.Pool}
}

func (s Size) resources() sku.Resources {
	const mi = 1 << 20
	return sku.Resources{MilliCPU: s.CPUs.MilliValue(), MemoryMiB: (s.Memory.Value() + mi - 1) / mi}
}

func (s WorkerSize) resources() sku.Resources {
	r := s.Size.resources()
	r.GPUs = s.GPUs
	return r
}

// total is what the whole set takes.
func (s podSet) total() sku.Resources { return s.each.Times(s.count) }

// tooLarge says by what each exceeds a node, or nothing.
func (s podSet) tooLarge(node sku.Resources) string { return strings.Join(s.each.Exceeds(node), ", ") }

// takenBy says whether nodes take the pods: tainted ones only those with GPUs, and others have none.
func (s podSet) takenBy(node sku.Resources, tainted bool) bool {
	return (s.each.GPUs > 0 || !tainted) && (s.each.GPUs == 0 || node.GPUs > 0)
}

// candidates are the flavors of q that Kueue considers for the set: it knows selectors and taints. A pool without GPUs has no quota for
// some.
func (s podSet) candidates(q Queue) []Flavor {
	var found []Flavor
	for _, f := range q.Flavors {
		if (s.pool == "" || s.pool == f.Name) && s.takenBy(f.Node, f.Tainted) {
			found = append(found, f)
		}
	}
	return found
}

// podsOf lists what the sets' pods take of nodes, one by one.
func podsOf(sets []podSet) []sku.Resources {
	var pods []sku.Resources
	for _, s := range sets {
		pods = append(pods, slices.Repeat([]sku.Resources{s.each}, int(s.count))...)
	}
	return pods
}

// packs reports whether the pool's nodes, at its maximum size, can hold the pods at the same time. It puts the largest first, each onto
// the first node with room. The scheduler may spread them and leave room on no node; Kueue then takes the run back and tries again.
func packs(pods []sku.Resources, pool Pool) bool {
	ordered := slices.SortedFunc(slices.Values(pods), func(x, y sku.Resources) int {
		return -cmp.Or(cmp.Compare(x.GPUs, y.GPUs), cmp.Compare(x.MemoryMiB, y.MemoryMiB), cmp.Compare(x.MilliCPU, y.MilliCPU))
	})
	var nodes []taken
	for _, pod := range ordered {
		i := slices.IndexFunc(nodes, func(n taken) bool { return n.pods < sku.WorkloadPods && within(n.used.Plus(pod), pool.Node) })
		switch {
		case i >= 0:
			nodes[i] = taken{nodes[i].used.Plus(pod), nodes[i].pods + 1}
		case len(nodes) < pool.Nodes && within(pod, pool.Node):
			nodes = append(nodes, taken{pod, 1})
		default:
			return false
		}
	}
	return true
}

// taken is what pods have of a node. AKS lets no more of them onto it than a number that is set with its pool.
type taken struct {
	used sku.Resources
	pods int
}

func within(r, limit sku.Resources) bool {
	return r.MilliCPU <= limit.MilliCPU && r.MemoryMiB <= limit.MemoryMiB && r.GPUs <= limit.GPUs
}

// perNode is how many such pods one node holds.
func perNode(pod, node sku.Resources) int64 {
	most := min(sku.WorkloadPods, node.MilliCPU/max(1, pod.MilliCPU), node.MemoryMiB/max(1, pod.MemoryMiB))
	if pod.GPUs > 0 {
		most = min(most, node.GPUs/pod.GPUs)
	}
	return most
}
