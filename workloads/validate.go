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

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// reservedEnv begins the names of the variables that a run is given.
const reservedEnv = "RUN_"

// Validate reports everything that cannot work, each with the path of its config key. Disabled workloads are checked too, as far as that
// does not depend on the stack: the catalog has entries that a small stack cannot run.
func (a Args) Validate() error {
	var errs []error
	for _, name := range a.Jobs.Names() {
		path := "workloads.jobs." + name
		w := a.resolved(a.Jobs[name])
		err := errors.Join(checkName(path, name), w.validate(path), a.validateScripts(path, w))
		if w.Enabled {
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
	if (w.Script == "") == (w.Entrypoint == "") {
		add(": exactly one of script and entrypoint must be set")
	}
	if w.Workers < 1 {
		add(".workers: must be at least 1, got %d: no task is placed on the head", w.Workers)
	}
	if w.Retries < 0 {
		add(".retries: must not be negative, got %d", w.Retries)
	}
	if w.Generation < 0 {
		add(".generation: must not be negative, got %d", w.Generation)
	}
	errs = append(errs, w.Worker.validate(path+".worker"), w.Head.validate(path+".head"))
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

func (s Size) validate(path string) error {
	var errs []error
	if s.CPUs.Sign() <= 0 {
		errs = append(errs, fmt.Errorf("%s.cpus: must be more than 0, got %s", path, s.CPUs.String()))
	}
	if s.Memory.Value() < 1<<20 {
		errs = append(errs, fmt.Errorf("%s.memory: must be at least 1Mi, got %s; write 4Gi for four gibibytes", path, s.Memory.String()))
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
