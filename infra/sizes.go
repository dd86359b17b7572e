package infra

import (
	"maps"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

// Size declares a VM size that the table of infra/sku lacks. Azure lists what a size has: az vm list-sizes, az vm list-skus.
type Size struct {
	// VCPUs is the number of virtual CPUs, 2 at least.
	VCPUs int64 `json:"vcpus"`
	// MemoryGiB is the nominal memory in GiB.
	MemoryGiB int64 `json:"memoryGiB"`
	// NVMeGiB is the capacity of the local disks in GiB, all together. Default: 0, no local disk.
	NVMeGiB int64 `json:"nvmeGiB"`
	// GPUs is the number of NVIDIA GPUs. Default: 0, a CPU size.
	GPUs int64 `json:"gpus"`
	// GPUMemoryGiB is the memory of one GPU in GiB; only with GPUs.
	GPUMemoryGiB int64 `json:"gpuMemoryGiB"`
	// QuotaFamily is the regional vCPU quota that the size counts against, as `az vm list-usage` names it.
	QuotaFamily string `json:"quotaFamily"`
}

func (s Size) sku(name string) sku.SKU {
	return sku.SKU{
		Name: name, QuotaFamily: s.QuotaFamily, VCPU: s.VCPUs, MemoryGiB: s.MemoryGiB,
		NVMeGiB: s.NVMeGiB, GPUs: s.GPUs, GPUMemoryGiB: s.GPUMemoryGiB,
	}
}

// SKU returns the pool's VM size: one that config declares, or one of the table.
func (a Args) SKU(p Pool) (sku.SKU, error) {
	if size, ok := a.size(p.VMSize); ok {
		return size, nil
	}
	return sku.SKU{}, a.unknownSize(p.VMSize, func(sku.SKU) error { return nil })
}

// Node returns the size of a pool's nodes. Where what config says of the pool is refused there is none: nothing should be concluded, and
// reported once more, from what it will be when it is mended.
func (a Args) Node(pool string) (sku.SKU, bool) {
	size, known := a.size(a.Pools[pool].VMSize)
	// What is wrong with a size is reported where it is declared, and of none of its pools.
	if declared, ok := a.SKUs[size.Name]; ok && declared.validate("", size.Name) != nil {
		return size, false
	}
	return size, known && a.checkNodes("", pool) == nil
}

// Sizes lists the sizes that pools may have, those that config declares among them, by name.
func (a Args) Sizes() []sku.SKU {
	sizes := sku.All()
	for _, name := range slices.Sorted(maps.Keys(a.SKUs)) {
		if !slices.ContainsFunc(sizes, func(s sku.SKU) bool { return strings.EqualFold(s.Name, name) }) {
			sizes = append(sizes, a.SKUs[name].sku(name))
		}
	}
	slices.SortFunc(sizes, func(x, y sku.SKU) int { return strings.Compare(x.Name, y.Name) })
	return sizes
}

func (a Args) size(name string) (sku.SKU, bool) {
	if declared := strict.Twin(name, slices.Sorted(maps.Keys(a.SKUs))); declared != "" {
		return a.SKUs[declared].sku(declared), true
	}
	return sku.Find(name)
}
