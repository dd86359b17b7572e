package workloads

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ray-on-aks/internal/strict"

	"github.com/distribution/reference"
	"github.com/google/shlex"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// reservedEnv begins the names of the variables that a run is given.
	reservedEnv = "RUN_"
	// maxWorkers is the most nodes that AKS allows in one pool.
	maxWorkers = 1000
	// maxRetries keeps a run that always fails from holding its quota for good: every retry is a new Ray cluster.
	maxRetries = 100
)

// The bounds of one pod: the least that Kubernetes counts or a process can use, and more than the largest VM has.
// https://learn.microsoft.com/azure/virtual-machines/sizes/memory-optimized/m-family
var (
	minPod = size("1m", "1Mi")
	maxPod = size("1024", "64Ti")
)

// Validate reports everything that cannot work, each with the path of its config key. Disabled workloads are checked too, as far as that
// does not depend on the stack: the catalog has entries that a small stack cannot run.
func (a Args) Validate() error {
	var errs []error
	for _, name := range a.Jobs.Names() {
		path := "workloads.jobs." + name
		w := a.resolved(a.Jobs[name])
		sizes := w.validateSizes(path)
		err := errors.Join(checkName(path, name), w.validateProgram(path, name), w.validate(path), sizes, a.validateScripts(path, w))
		if w.Enabled && sizes == nil {
			err = errors.Join(err, a.validateFit(path, w))
		}
		if err == nil {
			// The last guard: KubeRay itself. It speaks of the rendered object, so it is asked only when our own checks are content.
			err = a.validateRendered(path, name, w)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkName(path, name string) error {
	var errs []error
	if msgs := validation.IsDNS1035Label(name); len(msgs) > 0 {
		errs = append(errs, fmt.Errorf("%s: %q is no name for a workload: %s", path, name, strings.Join(msgs, "; ")))
	}
	if len(name) > maxBaseName {
		errs = append(errs, fmt.Errorf("%s: %q has %d characters; at most %d leave room for the run's hash in the %d that KubeRay allows; %q would do",
			path, name, len(name), maxBaseName, maxName, strings.TrimRight(name[:maxBaseName], "-")))
	}
	return errors.Join(errs...)
}

func (w Workload) validate(path string) error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(path+format, args...)) }
	if w.Kind != KindRayJob {
		add(".kind: must be %s, got %q", KindRayJob, w.Kind)
	}
	if w.Retries < 0 || w.Retries > maxRetries {
		add(".retries: must be between 0 and %d, got %d: each one is a new Ray cluster", maxRetries, w.Retries)
	}
	if w.Generation < 0 {
		add(".generation: must not be negative, got %d", w.Generation)
	}
	errs = append(errs, checkSeconds(path+".activeDeadline", w.ActiveDeadline.Duration), checkSeconds(path+".preRunningDeadline", w.PreRunningDeadline.Duration))
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		if msgs := validation.IsEnvVarName(name); len(msgs) > 0 {
			add(".env.%s: is no name for a variable: %s", name, strings.Join(msgs, "; "))
		}
		if strings.HasPrefix(name, reservedEnv) {
			add(".env.%s: names that begin with %s are set by the program", name, reservedEnv)
		}
	}
	return errors.Join(errs...)
}

// validateProgram checks what runs, and in which image.
func (w Workload) validateProgram(path, name string) error {
	var errs []error
	if (w.Script == "") == (w.Entrypoint == "") {
		hint := ""
		if near := strict.Nearest(name, Catalog().Names()); near != "" && w.Script == "" && near != name {
			// An entry of the catalog brings its script along; a misspelt one is a new workload without any.
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		errs = append(errs, fmt.Errorf("%s: exactly one of script and entrypoint must be set%s", path, hint))
	}
	// KubeRay pastes the command into a line of bash, which would refuse it when the pods are up.
	if words, err := shlex.Split(w.Entrypoint); err != nil {
		errs = append(errs, fmt.Errorf("%s.entrypoint: %q is no command line: %w", path, w.Entrypoint, err))
	} else if w.Entrypoint != "" && len(words) == 0 {
		errs = append(errs, fmt.Errorf("%s.entrypoint: has no command in it, got %q", path, w.Entrypoint))
	}
	// The parser is the kubelet's own.
	if _, err := reference.ParseNormalizedNamed(w.Image); err != nil {
		errs = append(errs, fmt.Errorf("%s.image: %q is no image, such as registry/repository:tag: %w", path, w.Image, err))
	}
	return errors.Join(errs...)
}

// validateSizes bounds what the fit check adds up.
func (w Workload) validateSizes(path string) error {
	var errs []error
	if w.Workers < 1 || w.Workers > maxWorkers {
		errs = append(errs, fmt.Errorf("%s.workers: must be between 1 and %d, got %d: no task is placed on the head, and no pool has more nodes",
			path, maxWorkers, w.Workers))
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

func checkSeconds(path string, d time.Duration) error {
	if d < time.Second || d.Seconds() > math.MaxInt32 {
		return fmt.Errorf("%s: must be at least 1s, got %s", path, d)
	}
	return nil
}

func (a Args) validateScripts(path string, w Workload) error {
	if _, err := scriptsOf(w); err != nil {
		return fmt.Errorf("%s.script: %w", path, err)
	}
	return nil
}

// validateRendered asks KubeRay's validators, as the object is authored and as it is once Kueue has suspended it.
func (a Args) validateRendered(path, name string, w Workload) error {
	files, err := scriptsOf(w)
	if err != nil {
		return fmt.Errorf("%s.script: %w", path, err)
	}
	run, err := newRun(name, w, files)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	object := a.rayJob(run, w)
	var errs []error
	for _, suspend := range []bool{false, true} {
		spec := a.rayJobSpec(run, w)
		spec.Suspend = suspend
		job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: object.Meta.Name, Labels: object.Meta.Labels}, Spec: *spec}
		if err := errors.Join(rayutils.ValidateRayJobMetadata(job.ObjectMeta), rayutils.ValidateRayJobSpec(job)); err != nil {
			errs = append(errs, fmt.Errorf("%s: KubeRay refuses the job (suspend %t): %w", path, suspend, err))
		}
	}
	return errors.Join(errs...)
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
