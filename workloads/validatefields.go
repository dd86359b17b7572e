package workloads

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// maxWorkers is as many as the nodes of one pool: a Ray cluster of more was never tried.
	maxWorkers = sku.MaxNodes
	// maxRetries keeps a run that always fails from holding its quota for good: every retry is a new Ray cluster.
	maxRetries = 100
	// maxStorage bounds the mounts of a pod, however large it is.
	maxStorage = 4
)

// The bounds of one pod: the least that Kubernetes counts and that Ray starts with, and the most that a VM has. Ray gives 30 % of the memory
// to its object store and refuses one of less than 75 MiB, which needs 250 MiB in all; its own processes take as much again.
// https://github.com/ray-project/ray/blob/ray-2.55.1/python/ray/_private/ray_constants.py
var (
	minPod = size("1m", "512Mi")
	maxPod = Size{
		CPUs:   *resource.NewQuantity(sku.Most.VCPU, resource.DecimalSI),
		Memory: *resource.NewQuantity(sku.Most.MemoryGiB<<30, resource.BinarySI),
	}
)

const (
	// noMore follows on what is above the most.
	noMore = "; no VM has more"
	// whyMemory follows on what is below the least.
	whyMemory = ": Ray gives 30% to its object store, which needs 75Mi, and its own processes need the rest; 4Gi is four gibibytes"
)

// outputPattern is a container and a prefix that is the same as a path in a mount and as the name of a blob.
var outputPattern = regexp.MustCompile(`^[a-z0-9-]+(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

const (
	// maxPrefix is what leaves room, in the 1024 characters of a blob's name, for the run's id and the names of its files.
	// https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
	maxPrefix = 768
	// maxPart is the longest name of a file or folder of Linux, where the container is mounted.
	maxPart = 255
)

// validateFields checks the fields that stand by themselves.
func (w Workload) validateFields(path string) error {
	var errs []error
	add := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s"+format, append([]any{path}, args...)...))
	}
	if w.Kind == KindRayJob {
		if w.Retries < 0 || w.Retries > maxRetries {
			add(".retries: must be between 0 and %d, got %d: each one is a new Ray cluster", maxRetries, w.Retries)
		}
		if w.Generation < 0 {
			add(".generation: must not be negative, got %d", w.Generation)
		}
		errs = append(errs, w.validateDeadlines(path))
	}
	return errors.Join(append(errs, w.validateEnv(path+".env"))...)
}

// validateDeadlines checks each deadline by itself, then against the other: both are counted from the same moment.
func (w Workload) validateDeadlines(path string) error {
	active, preRunning := w.ActiveDeadline.Duration, w.PreRunningDeadline.Duration
	err := errors.Join(checkSeconds(path+".activeDeadline", active), checkSeconds(path+".preRunningDeadline", preRunning))
	if err == nil && active <= preRunning {
		err = fmt.Errorf("%s.activeDeadline: must be longer than preRunningDeadline (%s), which would never come otherwise, got %s; raise it",
			path, preRunning, active)
	}
	return err
}

// checkSeconds refuses what KubeRay does not count: it has whole seconds, in 32 bits.
func checkSeconds(path string, d time.Duration) error {
	if d < time.Second || d.Seconds() > math.MaxInt32 || d%time.Second != 0 {
		return fmt.Errorf("%s: must be whole seconds between 1s and %ds, for example 90m, got %s", path, math.MaxInt32, d)
	}
	return nil
}

// validateSizes bounds what the fit check adds up.
func (w Workload) validateSizes(path string) error {
	var errs []error
	if w.Workers < 1 || w.Workers > maxWorkers {
		errs = append(errs, fmt.Errorf("%s.workers: must be between 1 and %d, got %d: no task is placed on the head, and more was never tried",
			path, maxWorkers, w.Workers))
	}
	if gpus := w.Worker.GPUs; gpus < 0 || gpus > sku.Most.GPUs {
		why := ""
		if gpus > 0 {
			why = noMore
		}
		errs = append(errs, fmt.Errorf("%s.worker.gpus: must be between 0 and %d, got %d%s", path, sku.Most.GPUs, gpus, why))
	}
	return errors.Join(append(errs, w.Worker.validate(path+".worker"), w.Head.validate(path+".head"))...)
}

func (s Size) validate(path string) error {
	return errors.Join(
		checkBetween(path+".cpus", s.CPUs, minPod.CPUs, maxPod.CPUs, ""),
		checkBetween(path+".memory", s.Memory, minPod.Memory, maxPod.Memory, whyMemory))
}

// checkBetween refuses a quantity out of its bounds. Quantities are compared as they are: as an int64, one that is too large reads 0.
func checkBetween(path string, got, least, most resource.Quantity, whyLeast string) error {
	why := whyLeast
	switch {
	case got.Cmp(most) > 0:
		why = noMore
	case got.Cmp(least) >= 0:
		return nil
	}
	return fmt.Errorf("%s: must be between %s and %s, got %s%s", path, least.String(), most.String(), got.String(), why)
}

// validateStorage checks what is mounted, and that the output is where the pods can write. Whether a container exists is asked only where
// the workload runs, and whether a node keeps room for the mounts only where sizes says that they can be counted.
func (a Args) validateStorage(path string, w Workload, sizes bool) error {
	var errs []error
	switch n := len(w.Storage); {
	case n > maxStorage:
		errs = append(errs, fmt.Errorf("%s.storage: must be at most %d containers, got %d: each is mounted by a process of %dMi on the node, beside the pod; "+
			"put what belongs together into one container, in folders", path, maxStorage, n, sku.MountPoolMiB+sku.MountOverheadMiB))
	case sizes:
		errs = append(errs, w.checkMounts(path))
	}
	errs = append(errs, strict.Each(path+".storage", w.Storage, func(at, name string) error {
		if !w.Enabled || slices.Contains(a.Containers, name) {
			return nil
		}
		return a.unknown(at, "container", name, a.unmounted(w), "infra.storage.containers")
	})...)
	return errors.Join(append(errs, a.validateOutput(path+".output", w))...)
}

// checkMounts refuses pods that are too small for their mounts: these run beside the pod, where the scheduler does not see them, and a node
// keeps memory for as many as a pod of its size may have.
func (w Workload) checkMounts(path string) error {
	containers := slices.Sorted(slices.Values(w.Storage))
	n := int64(len(slices.Compact(containers))) // one that is repeated is refused itself
	var kept, raise []string
	for _, pod := range []struct {
		role string
		each sku.Resources
	}{{"head", w.Head.resources()}, {"worker", w.Worker.resources()}} {
		if n <= pod.each.Mounts() {
			continue
		}
		size, key, one := fmt.Sprintf("%dm CPU", pod.each.MilliCPU), "cpus", sku.Resources{MilliCPU: 1000}
		if pod.each.GPUs > 0 {
			size, key, one = fmt.Sprintf("%d GPUs", pod.each.GPUs), "gpus", sku.Resources{GPUs: 1}
		}
		least := int64(1)
		for one.Times(least).Mounts() < n {
			least++
		}
		kept = append(kept, fmt.Sprintf("%d mounts for a %s of %s", pod.each.Mounts(), pod.role, size))
		raise = append(raise, fmt.Sprintf("%s.%s to %d", pod.role, key, least))
	}
	if kept == nil {
		return nil
	}
	return fmt.Errorf("%s.storage: has %d containers, and a node keeps %s; raise %s, or mount fewer",
		path, n, strings.Join(kept, " and "), strings.Join(raise, " and "))
}

// unmounted lists the containers that w could mount beside those that it mounts.
func (a Args) unmounted(w Workload) []string {
	return slices.DeleteFunc(slices.Clone(a.Containers), func(name string) bool { return slices.Contains(w.Storage, name) })
}

func (a Args) validateOutput(path string, w Workload) error {
	container, prefix, _ := strings.Cut(w.Output, "/")
	switch {
	case len(prefix) > maxPrefix:
		return fmt.Errorf("%s: the prefix after %s/ must be at most %d characters, got %d: a blob's name has at most 1024, and the run and its files come after it",
			path, container, maxPrefix, len(prefix))
	case slices.ContainsFunc(strings.Split(prefix, "/"), func(part string) bool { return len(part) > maxPart }):
		return fmt.Errorf("%s: each part between slashes must be at most %d characters, as of a file's name", path, maxPart)
	case w.Output == "" || outputPattern.MatchString(w.Output) && slices.Contains(w.Storage, container):
		return nil
	case !outputPattern.MatchString(w.Output):
		return fmt.Errorf("%s: must be <container>/<prefix> of letters, digits, dots, hyphens and underscores, for example aurora/checkpoints, got %q",
			path, w.Output)
	}
	mend := "write to one of them"
	if slices.Contains(a.Containers, container) {
		mend = fmt.Sprintf("add %s to it, or ", container) + mend
	}
	return fmt.Errorf("%s: %q lies in container %s, which is not mounted; storage is %s: %s", path, w.Output, container, strict.List(w.Storage), mend)
}
