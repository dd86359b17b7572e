package workloads

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxWorkers is as many as the nodes that AKS allows in one pool: a Ray cluster of more was never tried.
	maxWorkers = 1000
	// maxRetries keeps a run that always fails from holding its quota for good: every retry is a new Ray cluster.
	maxRetries = 100
	// maxGPUs is more than one VM has.
	maxGPUs = 64
)

// The bounds of one pod: the least that Kubernetes counts or a process can use, and more than the largest VM has.
// https://learn.microsoft.com/azure/virtual-machines/sizes/memory-optimized/m-family
var (
	minPod = size("1m", "1Mi")
	maxPod = size("1024", "64Ti")
)

const (
	// reservedEnv begins the names of the variables that every pod is given.
	reservedEnv = "RUN_"
	// serveToken is the variable with a service's token. Others that begin with SERVE_ are the serving programs' own knobs.
	serveToken = "SERVE_TOKEN"
	// authEnv begins the names of the variables with which KubeRay gives a cluster its token.
	authEnv = "RAY_AUTH_"
)

// clusterEnv are the other variables that KubeRay sets only where they are absent.
var clusterEnv = []string{"RAY_ADDRESS", "RAY_CLUSTER_NAME", "FQ_RAY_IP", "RAY_IP", "RAY_PORT"}

// outputPattern is a container and a prefix that is the same as a path in a mount and as the name of a blob.
var outputPattern = regexp.MustCompile(`^[a-z0-9-]+(/[A-Za-z0-9][A-Za-z0-9._-]*)+$`)

// validateFields checks the fields that stand by themselves.
func (w Workload) validateFields(path string) error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(path+format, args...)) }
	if w.Kind == KindRayJob {
		if w.Retries < 0 || w.Retries > maxRetries {
			add(".retries: must be between 0 and %d, got %d: each one is a new Ray cluster", maxRetries, w.Retries)
		}
		if w.Generation < 0 {
			add(".generation: must not be negative, got %d", w.Generation)
		}
		errs = append(errs, checkSeconds(path+".activeDeadline", w.ActiveDeadline.Duration), checkSeconds(path+".preRunningDeadline", w.PreRunningDeadline.Duration))
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		if msgs := validation.IsEnvVarName(name); len(msgs) > 0 {
			add(".env.%s: is no name for a variable: %s", name, strings.Join(msgs, "; "))
		}
		if strings.HasPrefix(name, reservedEnv) {
			add(".env.%s: names that begin with %s are set by the program; choose another", name, reservedEnv)
		}
		if slices.Contains(clusterEnv, name) || strings.HasPrefix(name, authEnv) {
			add(".env.%s: belongs to KubeRay, which would leave yours in place and lose the cluster's address or its token; leave it out", name)
		}
		if name == serveToken {
			add(".env.%s: is set by the program, from a Secret; leave it out", name)
		}
	}
	return errors.Join(errs...)
}

func checkSeconds(path string, d time.Duration) error {
	if d < time.Second || d.Seconds() > math.MaxInt32 {
		return fmt.Errorf("%s: must be between 1s and %d seconds, got %s", path, math.MaxInt32, d)
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
	if w.Worker.GPUs < 0 || w.Worker.GPUs > maxGPUs {
		errs = append(errs, fmt.Errorf("%s.worker.gpus: must be between 0 and %d, got %d; no VM has more", path, maxGPUs, w.Worker.GPUs))
	}
	return errors.Join(append(errs, w.Worker.validate(path+".worker"), w.Head.validate(path+".head"))...)
}

func (s Size) validate(path string) error {
	var errs []error
	// Quantities are compared as they are: as an int64, one that is too large reads 0.
	if s.CPUs.Cmp(minPod.CPUs) < 0 || s.CPUs.Cmp(maxPod.CPUs) > 0 {
		errs = append(errs, fmt.Errorf("%s.cpus: must be between %s and %s, got %s; no VM has more",
			path, minPod.CPUs.String(), maxPod.CPUs.String(), s.CPUs.String()))
	}
	if s.Memory.Cmp(minPod.Memory) < 0 || s.Memory.Cmp(maxPod.Memory) > 0 {
		errs = append(errs, fmt.Errorf("%s.memory: must be between %s and %s, got %s; no VM has more, and 4Gi is four gibibytes",
			path, minPod.Memory.String(), maxPod.Memory.String(), s.Memory.String()))
	}
	return errors.Join(errs...)
}

// validateStorage checks that the output is where the pods can write.
func (w Workload) validateStorage(path string) error {
	var errs []error
	for i, name := range w.Storage {
		if slices.Contains(w.Storage[:i], name) {
			errs = append(errs, fmt.Errorf("%s.storage: %q is listed twice", path, name))
		}
	}
	if w.Output == "" {
		return errors.Join(errs...)
	}
	container, _, _ := strings.Cut(w.Output, "/")
	switch {
	case !outputPattern.MatchString(w.Output):
		errs = append(errs, fmt.Errorf("%s.output: must be <container>/<prefix> of letters, digits, dots, hyphens and underscores, "+
			"for example aurora/checkpoints, got %q", path, w.Output))
	case !slices.Contains(w.Storage, container):
		errs = append(errs, fmt.Errorf("%s.output: %q lies in container %s, which is not mounted; storage is %s: add %s to it, or write to one of them",
			path, w.Output, container, listed(w.Storage), container))
	}
	return errors.Join(errs...)
}
