package queues

import (
	"math"

	"ray-on-aks/infra/sku"

	"k8s.io/apimachinery/pkg/api/resource"
)

// unlimited is more than any cluster has.
var unlimited = sku.Resources{MilliCPU: math.MaxInt64, MemoryMiB: math.MaxInt64, GPUs: math.MaxInt64}

// dimension is one of the resources that a Quota limits.
type dimension struct {
	// key is the field of a Quota in a stack file, and resource what the fit check calls it.
	key, resource string
	// asked is what a Quota says, or nil.
	asked func(Quota) *resource.Quantity
	// count is a quantity in whole units.
	count func(resource.Quantity) int64
	// quantity is such a count as Kubernetes writes it.
	quantity func(int64) resource.Quantity
	// of is where resources keep the count.
	of func(*sku.Resources) *int64
}

var (
	dimCPU = dimension{
		key:      "cpu",
		resource: "cpu",
		asked:    func(q Quota) *resource.Quantity { return q.CPU },
		count:    func(v resource.Quantity) int64 { return bounded(v, resource.Milli) },
		quantity: func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) },
		of:       func(r *sku.Resources) *int64 { return &r.MilliCPU },
	}
	dimMemory = dimension{
		key:      "memory",
		resource: "memory",
		asked:    func(q Quota) *resource.Quantity { return q.Memory },
		count:    func(v resource.Quantity) int64 { return bounded(v, 0) >> 20 },
		quantity: func(n int64) resource.Quantity {
			return *resource.NewQuantity(min(n, math.MaxInt64>>20)<<20, resource.BinarySI)
		},
		of: func(r *sku.Resources) *int64 { return &r.MemoryMiB },
	}
	dimGPUs = dimension{
		key:      "gpus",
		resource: "gpu",
		asked: func(q Quota) *resource.Quantity {
			if q.GPUs == nil {
				return nil
			}
			return resource.NewQuantity(*q.GPUs, resource.DecimalSI)
		},
		count:    func(v resource.Quantity) int64 { return bounded(v, 0) },
		quantity: func(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) },
		of:       func(r *sku.Resources) *int64 { return &r.GPUs },
	}
	// dimensions are in the order in which messages name them.
	dimensions = []dimension{dimCPU, dimMemory, dimGPUs}
)

// bounded is the quantity at a scale, between 0 and the largest number. As an int64, one that is too large would read 0.
func bounded(q resource.Quantity, scale resource.Scale) int64 {
	if q.Sign() <= 0 {
		return 0
	}
	if q.Cmp(*resource.NewScaledQuantity(math.MaxInt64, scale)) >= 0 {
		return math.MaxInt64
	}
	return q.ScaledValue(scale)
}

// over is what q says, and r where it says nothing.
func (q Quota) over(r sku.Resources) sku.Resources {
	for _, d := range dimensions {
		if v := d.valid(q); v != nil {
			*d.of(&r) = d.count(*v)
		}
	}
	return r
}

// valid is what q says, or nil where that is nothing or is refused. What has to change limits nothing, or jobs would be refused as well
// that run once it is mended.
func (d dimension) valid(q Quota) *resource.Quantity {
	if v := d.asked(q); v != nil && d.checkUnit(*v) == nil {
		return v
	}
	return nil
}

// least is the smaller of each resource.
func least(a, b sku.Resources) sku.Resources {
	return sku.Resources{MilliCPU: min(a.MilliCPU, b.MilliCPU), MemoryMiB: min(a.MemoryMiB, b.MemoryMiB), GPUs: min(a.GPUs, b.GPUs)}
}

// available is what the pool can allocate to the queues at its maximum size.
func (p Pool) available() sku.Resources {
	all := p.Node.Times(int64(max(0, p.Nodes)))
	for _, d := range dimensions {
		*d.of(&all) = max(0, *d.of(&all)-max(0, *d.of(&p.Reserved)))
	}
	return all
}

// total is what all queues together may hand out of the pool. A quota above what it has is refused.
func (a Args) total(p Pool) sku.Resources {
	available := p.available()
	return least(a.Quota[p.Name].over(available), available)
}

// Spare is what the queues never hand out of the pool: what a quota keeps back, or what teams' quotas leave to nobody.
func (a Args) Spare(p Pool) sku.Resources {
	handed := a.total(p)
	if a.Shape == ShapeTeams {
		handed = sku.Resources{}
		for _, nominal := range a.divide(p) {
			handed = handed.Plus(nominal)
		}
	}
	spare := p.available()
	for _, d := range dimensions {
		*d.of(&spare) = max(0, *d.of(&spare)-*d.of(&handed))
	}
	return spare
}

// Nominal is what the tenant's ClusterQueue may hand out of the pool without borrowing: in the shape single the whole of it, for a team
// its quota or its share.
func (a Args) Nominal(t Tenant, p Pool) sku.Resources {
	if a.Shape != ShapeTeams {
		return a.total(p)
	}
	return a.divide(p)[t.Name]
}

// Ever is the most that the tenant can get of the pool at once, all others being idle: its quota and what they lend, up to its own
// borrowing limit. It is potentialAvailable of Kueue's pkg/cache/scheduler/resource_node.go.
func (a Args) Ever(t Tenant, p Pool) sku.Resources {
	if a.Shape != ShapeTeams {
		return a.total(p)
	}
	nominal := a.divide(p)
	ever := nominal[t.Name]
	for _, name := range a.Teams.Names() {
		if name != t.Name {
			ever = ever.Plus(least(nominal[name], a.Teams[name].LendingLimit[p.Name].over(unlimited)))
		}
	}
	return least(ever, nominal[t.Name].Plus(a.Teams[t.Name].BorrowingLimit[p.Name].over(unlimited)))
}
