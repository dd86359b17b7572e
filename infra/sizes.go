package infra

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

// Size declares a VM size that the table of infra/sku lacks. Azure lists what a size has: az vm list-sizes, az vm list-skus.
type Size struct {
	// VCPUs is the number of virtual CPUs.
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

// What no VM size of Azure has more of; the largest have about half. A larger number is one in another unit.
const (
	maxVCPUs     = 2048
	maxMemoryGiB = 65536
	maxNVMeGiB   = 262144
	maxGPUs      = 64
	maxGPUMemory = 1024
)

var sizePattern = regexp.MustCompile(`^[A-Za-z]+(_[A-Za-z0-9-]+)+$`)

func (s Size) sku(name string) sku.SKU {
	return sku.SKU{
		Name: name, QuotaFamily: s.QuotaFamily, VCPU: s.VCPUs, MemoryGiB: s.MemoryGiB,
		NVMeGiB: s.NVMeGiB, GPUs: s.GPUs, GPUMemoryGiB: s.GPUMemoryGiB,
	}
}

// SKU returns the pool's VM size: one that config declares, or one of the table.
func (a Args) SKU(p Pool) (sku.SKU, error) { return a.size(p.VMSize) }

func (a Args) size(name string) (sku.SKU, error) {
	for declared, s := range a.SKUs {
		if strings.EqualFold(declared, name) {
			return s.sku(declared), nil
		}
	}
	if s, err := sku.Lookup(name); err == nil {
		return s, nil
	}
	known := slices.Sorted(slices.Values(append(sku.Names(), slices.Collect(maps.Keys(a.SKUs))...)))
	near := ""
	if n := strict.Nearest(name, known); n != "" {
		near = fmt.Sprintf("did you mean %s? ", n)
	}
	return sku.SKU{}, fmt.Errorf("unknown VM size %q; %sknown are %s; another is declared as "+
		"infra.skus.<name>: {vcpus, memoryGiB, nvmeGiB, gpus, gpuMemoryGiB, quotaFamily}", name, near, strings.Join(known, ", "))
}

func (a Args) checkSize(path, name string) error {
	if _, err := a.size(name); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (a Args) validateSizes(path string) error {
	var errs []error
	names := slices.Sorted(maps.Keys(a.SKUs))
	for i, name := range names {
		at := path + "." + name
		if !sizePattern.MatchString(name) {
			errs = append(errs, fmt.Errorf("%s: is no name of a VM size; write it as Azure does, for example Standard_D8ds_v6", at))
		}
		// Azure does not mind the case of a size.
		if twin := slices.IndexFunc(names[:i], func(n string) bool { return strings.EqualFold(n, name) }); twin >= 0 {
			errs = append(errs, fmt.Errorf("%s: is the same size as %s.%s; declare it once", at, path, names[twin]))
		}
		errs = append(errs, a.SKUs[name].validate(at, name))
	}
	return errors.Join(errs...)
}

func (s Size) validate(path, name string) error {
	if known, err := sku.Lookup(name); err == nil {
		if s.sku(known.Name) != known {
			return fmt.Errorf("%s: is known with other numbers (%d vCPUs, %d GiB, %d GiB NVMe, %d GPUs of %d GiB, quota family %q); take it out",
				path, known.VCPU, known.MemoryGiB, known.NVMeGiB, known.GPUs, known.GPUMemoryGiB, known.QuotaFamily)
		}
		return nil
	}
	between := func(key string, got, low, high int64) error {
		if got < low || got > high {
			return fmt.Errorf("%s.%s: must be between %d and %d, got %d", path, key, low, high, got)
		}
		return nil
	}
	errs := []error{
		between("vcpus", s.VCPUs, 1, maxVCPUs), between("memoryGiB", s.MemoryGiB, 1, maxMemoryGiB),
		between("nvmeGiB", s.NVMeGiB, 0, maxNVMeGiB), between("gpus", s.GPUs, 0, maxGPUs),
		between("gpuMemoryGiB", s.GPUMemoryGiB, 0, maxGPUMemory),
	}
	if (s.GPUs > 0) != (s.GPUMemoryGiB > 0) {
		errs = append(errs, fmt.Errorf("%s.gpuMemoryGiB: must be the memory of one GPU, and 0 without GPUs; got %d with %d GPUs", path, s.GPUMemoryGiB, s.GPUs))
	}
	if s.QuotaFamily == "" {
		errs = append(errs, fmt.Errorf("%s.quotaFamily: must name the vCPU quota that the size counts against, as az vm list-usage does", path))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if left := s.sku(name).Allocatable(); left.MilliCPU <= 0 || left.MemoryMiB <= 0 {
		return fmt.Errorf("%s: is too small: after what AKS and the mounts keep of a node, %dm of CPU and %dMi of memory are left", path, left.MilliCPU, left.MemoryMiB)
	}
	return nil
}
