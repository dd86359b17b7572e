// Package sku is the one table of VM sizes: what hardware a size has, which quota family pays for it, and how much of a
// node pods can really use. Quotas, fit checks and the rehearsal's nodes all come from it. It imports nothing but the
// standard library, so that every part can use it.
package sku

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// SKU is one Azure VM size.
type SKU struct {
	// Name is the size as Azure spells it, for example Standard_D8ds_v6.
	Name string `json:"name"`
	// QuotaFamily is the regional vCPU quota that the size counts against, as `az vm list-usage` names it.
	QuotaFamily string `json:"quotaFamily"`
	// VCPU is the number of virtual CPUs.
	VCPU int64 `json:"vcpus"`
	// MemoryGiB is the nominal memory; a node reports less, see Allocatable.
	MemoryGiB int64 `json:"memoryGiB"`
	// NVMeGiB is the local disk's capacity, all disks together; 0 means that the size has none.
	NVMeGiB int64 `json:"nvmeGiB"`
	// GPUs is the number of whole GPUs; 0 means a CPU size.
	GPUs int64 `json:"gpus"`
	// GPUMemoryGiB is the memory of one GPU.
	GPUMemoryGiB int64 `json:"gpuMemoryGiB"`
}

// Most is what no VM size of Azure has more of; the largest have about half. A larger number is one in another unit.
// https://learn.microsoft.com/azure/virtual-machines/sizes/memory-optimized/m-family
var Most = SKU{VCPU: 2048, MemoryGiB: 65536, NVMeGiB: 262144, GPUs: 64, GPUMemoryGiB: 1024}

// Resources are what pods may request of one node.
type Resources struct {
	// MilliCPU is CPU in thousandths of a core.
	MilliCPU int64 `json:"milliCPU"`
	// MemoryMiB is memory in MiB.
	MemoryMiB int64 `json:"memoryMiB"`
	// GPUs is the number of whole GPUs.
	GPUs int64 `json:"gpus"`
}

// Times returns what n such nodes offer together. Like Plus it stops at the largest number: one that wrapped round would fit anywhere.
func (r Resources) Times(n int64) Resources {
	return Resources{MilliCPU: times(r.MilliCPU, n), MemoryMiB: times(r.MemoryMiB, n), GPUs: times(r.GPUs, n)}
}

// Plus returns the sum of r and o.
func (r Resources) Plus(o Resources) Resources {
	return Resources{MilliCPU: plus(r.MilliCPU, o.MilliCPU), MemoryMiB: plus(r.MemoryMiB, o.MemoryMiB), GPUs: plus(r.GPUs, o.GPUs)}
}

func times(a, n int64) int64 {
	if n > 0 && a > math.MaxInt64/n {
		return math.MaxInt64
	}
	return a * n
}

func plus(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Exceeds names the resources of which r is more than limit, in a fixed order.
func (r Resources) Exceeds(limit Resources) []string {
	var over []string
	if r.MilliCPU > limit.MilliCPU {
		over = append(over, fmt.Sprintf("cpu %dm of %dm", r.MilliCPU, limit.MilliCPU))
	}
	if r.MemoryMiB > limit.MemoryMiB {
		over = append(over, fmt.Sprintf("memory %dMi of %dMi", r.MemoryMiB, limit.MemoryMiB))
	}
	if r.GPUs > limit.GPUs {
		over = append(over, fmt.Sprintf("gpu %d of %d", r.GPUs, limit.GPUs))
	}
	return over
}

// table lists the sizes by their lower-case name, since Azure does not mind the case. Sources:
// https://learn.microsoft.com/azure/virtual-machines/sizes/general-purpose/ddsv6-series
// https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/nca100v4-series
// https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ndasra100v4-series
// https://learn.microsoft.com/azure/virtual-machines/sizes/gpu-accelerated/ndma100v4-series
var table = index(
	SKU{Name: "Standard_D4ds_v6", QuotaFamily: familyDdsv6, VCPU: 4, MemoryGiB: 16, NVMeGiB: 220},
	SKU{Name: "Standard_D8ds_v6", QuotaFamily: familyDdsv6, VCPU: 8, MemoryGiB: 32, NVMeGiB: 440},
	SKU{Name: "Standard_D16ds_v6", QuotaFamily: familyDdsv6, VCPU: 16, MemoryGiB: 64, NVMeGiB: 880},
	SKU{Name: "Standard_D32ds_v6", QuotaFamily: familyDdsv6, VCPU: 32, MemoryGiB: 128, NVMeGiB: 1760},
	SKU{Name: "Standard_NC24ads_A100_v4", QuotaFamily: familyNCA100, VCPU: 24, MemoryGiB: 220, NVMeGiB: 960, GPUs: 1, GPUMemoryGiB: 80},
	SKU{Name: "Standard_NC48ads_A100_v4", QuotaFamily: familyNCA100, VCPU: 48, MemoryGiB: 440, NVMeGiB: 1920, GPUs: 2, GPUMemoryGiB: 80},
	SKU{Name: "Standard_NC96ads_A100_v4", QuotaFamily: familyNCA100, VCPU: 96, MemoryGiB: 880, NVMeGiB: 3840, GPUs: 4, GPUMemoryGiB: 80},
	SKU{Name: "Standard_ND96asr_v4", QuotaFamily: familyNDA100by40, VCPU: 96, MemoryGiB: 900, NVMeGiB: 6000, GPUs: 8, GPUMemoryGiB: 40},
	SKU{Name: "Standard_ND96amsr_A100_v4", QuotaFamily: familyNDA100, VCPU: 96, MemoryGiB: 1900, NVMeGiB: 6400, GPUs: 8, GPUMemoryGiB: 80},
)

const (
	familyDdsv6  = "standardDdsv6Family"
	familyNCA100 = "StandardNCADSA100v4Family"
	familyNDA100 = "Standard NDAMSv4_A100Family"
	// familyNDA100by40 is that of the A100s with 40 GB; its spelling has one space more.
	familyNDA100by40 = "Standard NDASv4_A100 Family"
)

func index(skus ...SKU) map[string]SKU {
	m := make(map[string]SKU, len(skus))
	for _, s := range skus {
		m[strings.ToLower(s.Name)] = s
	}
	return m
}

// Find returns the size of that name, if the table has it.
func Find(name string) (SKU, bool) {
	s, ok := table[strings.ToLower(name)]
	return s, ok
}

// Lookup returns the size of that name, or an error that lists the known ones. Config may declare others, so infra says that in its own
// words.
func Lookup(name string) (SKU, error) {
	if s, ok := Find(name); ok {
		return s, nil
	}
	return SKU{}, fmt.Errorf("unknown VM size %q: known are %s", name, strings.Join(Names(), ", "))
}

// Names lists the known sizes in order.
func Names() []string {
	names := make([]string, 0, len(table))
	for _, s := range table {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// All lists the known sizes, ordered by name.
func All() []SKU {
	return slices.SortedFunc(maps.Values(table), func(a, b SKU) int { return strings.Compare(a.Name, b.Name) })
}
