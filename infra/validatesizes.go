package infra

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

const (
	// minVCPUs is the least with which AKS takes a size for a node pool.
	// https://learn.microsoft.com/azure/aks/quotas-skus-regions#restricted-vm-sizes
	minVCPUs = 2
	// minSystemVCPUs and minSystemGiB are the least for a system pool, and systemSize is one that has them.
	// https://learn.microsoft.com/azure/aks/use-system-pools#system-and-user-node-pools
	minSystemVCPUs = 4
	minSystemGiB   = 4
	systemSize     = "Standard_D4ds_v6"
)

var (
	sizePattern = regexp.MustCompile(`^[A-Za-z]+(_[A-Za-z0-9-]+)+$`)
	// burstable are the sizes of the B series, which AKS refuses for a system pool.
	burstable = regexp.MustCompile(`(?i)^standard_b\d`)
)

// unknownSize is the error for a size that does not exist. It suggests sizes that would do.
func (a Args) unknownSize(name string, check func(sku.SKU) error) error {
	var would []string
	for _, s := range a.Sizes() {
		if check(s) == nil {
			would = append(would, s.Name)
		}
	}
	return fmt.Errorf("unknown VM size %q%s; another is declared as infra.skus.<name>: {vcpus, memoryGiB, nvmeGiB, gpus, gpuMemoryGiB, quotaFamily}",
		name, strict.Hint(name, would))
}

// checkSize refuses a size that does not exist, and one that a pool cannot be of.
func (a Args) checkSize(path, name string, check func(sku.SKU) error) error {
	size, ok := a.size(name)
	if !ok {
		return fmt.Errorf("%s: %w", path, a.unknownSize(name, check))
	}
	if err := check(size); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// checkSystemSize keeps to what AKS asks of a system pool.
func checkSystemSize(s sku.SKU) error {
	switch {
	case s.GPUs > 0:
		return fmt.Errorf("must be a size without GPUs, got %s: no workload can run there", s.Name)
	case s.VCPU < minSystemVCPUs || s.MemoryGiB < minSystemGiB:
		return fmt.Errorf("must be a size of %d vCPUs and %d GiB at least, as AKS asks of a system pool, got %s with %d and %d; %s would do",
			minSystemVCPUs, minSystemGiB, s.Name, s.VCPU, s.MemoryGiB, systemSize)
	case burstable.MatchString(s.Name):
		return fmt.Errorf("must not be of the B series, which AKS refuses for a system pool, got %s; %s would do", s.Name, systemSize)
	}
	return nil
}

// checkPoolSize keeps the CPU pool open to heads and submitters: they are queued, and tolerate no taint.
func checkPoolSize(pool string) func(sku.SKU) error {
	return func(s sku.SKU) error {
		if pool == CPUPool && s.GPUs > 0 {
			return fmt.Errorf("must be a size without GPUs, got %s: heads and submitters run there and never on GPU nodes; "+
				"give GPUs a pool of their own, for example infra.pools.gpu", s.Name)
		}
		return nil
	}
}

func (a Args) validateSizes(path string) error {
	var errs []error
	names := slices.Sorted(maps.Keys(a.SKUs))
	for i, name := range names {
		at := path + "." + name
		// Azure does not mind the case of a size.
		if twin := strict.Twin(name, names[:i]); twin != "" {
			errs = append(errs, fmt.Errorf("%s: is the same size as %s.%s; declare it once", at, path, twin))
			continue
		}
		if !sizePattern.MatchString(name) {
			errs = append(errs, fmt.Errorf("%s: is no name of a VM size; write it as Azure does, for example Standard_D8ds_v6", at))
		}
		errs = append(errs, a.SKUs[name].validate(at, name))
	}
	return errors.Join(errs...)
}

func (s Size) validate(path, name string) error {
	if known, ok := sku.Find(name); ok {
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
		between("vcpus", s.VCPUs, minVCPUs, sku.Most.VCPU), between("memoryGiB", s.MemoryGiB, 1, sku.Most.MemoryGiB),
		between("nvmeGiB", s.NVMeGiB, 0, sku.Most.NVMeGiB), between("gpus", s.GPUs, 0, sku.Most.GPUs),
		between("gpuMemoryGiB", s.GPUMemoryGiB, 0, sku.Most.GPUMemoryGiB),
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
