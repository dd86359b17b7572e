package workloads

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Validate reports everything that cannot work, each with the path of its config key. Disabled workloads are checked too, as far as that
// does not depend on the stack: the catalog has entries that a small stack cannot run.
func (a Args) Validate() error {
	var errs []error
	for _, name := range a.Declared.Names() {
		path := "workloads." + name
		declared := a.Declared[name]
		w := a.resolved(declared)
		err := checkKind(path, name, declared)
		if err == nil {
			err = a.validateWorkload(path, name, w)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (a Args) validateWorkload(path, name string, w Workload) error {
	sizes := w.validateSizes(path)
	err := errors.Join(a.checkName(path, name, w.Kind), w.validateProgram(path, name), w.validateFields(path), a.validateStorage(path, w, sizes == nil),
		a.validateNeeds(path, name, w), sizes)
	if w.Enabled {
		err = errors.Join(err, a.validateOnStack(path, name, w, sizes == nil))
	}
	if err == nil {
		// The last guard: KubeRay itself. It speaks of the rendered object, so it is asked only when our own checks are content.
		err = a.validateRendered(path, name, w)
	}
	return err
}

// checkKind refuses an unknown kind, another than the catalog's, and fields that are set but mean nothing to the kind. It is given what
// was declared: what the program fills in is none of the user's business.
func checkKind(path, name string, w Workload) error {
	kinds := []string{string(KindRayJob), string(KindRayService)}
	if !slices.Contains(kinds, string(w.Kind)) {
		return fmt.Errorf("%s.kind: must be %s, got %q%s", path, strings.Join(kinds, " or "), w.Kind, strict.Hint(string(w.Kind), kinds))
	}
	if entry, ok := Catalog()[name]; ok && entry.Kind != w.Kind {
		// Its other fields are those of the catalog, for the kind there: what they lack or have too much is not the user's mistake.
		return fmt.Errorf("%s.kind: must be %s, as %s is in the catalog, got %s; declare a workload of another name", path, entry.Kind, name, w.Kind)
	}
	fields := strict.Fields(reflect.TypeFor[Workload]())
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(onlyFor)) {
		if onlyFor[key] != w.Kind && !reflect.ValueOf(w).FieldByIndex(fields[key].Index).IsZero() {
			errs = append(errs, fmt.Errorf("%s.%s: has no effect on a %s, only on a %s; leave it out", path, key, w.Kind, onlyFor[key]))
		}
	}
	return errors.Join(errs...)
}

func (a Args) checkName(path, name string, kind Kind) error {
	most, why := maxBaseName, fmt.Sprintf("leave room for the run's hash in the %d that KubeRay allows", maxName)
	if kind == KindRayService {
		most, why = maxName, "leave room for what KubeRay appends for its cluster and pods"
	}
	free := func(other string) bool {
		_, taken := a.Declared[other]
		return !taken && isName(other)
	}
	if len(name) <= most {
		if isName(name) {
			return nil
		}
		return fmt.Errorf("%s: %q is no name for a workload: lower-case letters, digits and hyphens, beginning with a letter and ending with a letter or digit%s",
			path, name, strict.WouldDo(strings.TrimLeft(strict.Hyphenated(strings.ToLower(name)), "-0123456789"), most, free))
	}
	return fmt.Errorf("%s: %q has %d characters; at most %d %s%s", path, name, len(name), most, why,
		strict.WouldDo(name, most, free))
}

// isName says whether KubeRay takes the name, which is that of a Kubernetes Service too.
func isName(name string) bool { return len(validation.IsDNS1035Label(name)) == 0 }

// validateRendered asks KubeRay's validators.
func (a Args) validateRendered(path, name string, w Workload) error {
	run, err := a.run(name, w)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if w.Kind == KindRayService {
		spec, err := a.rayServiceSpec(run, w)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		service := &rayv1.RayService{ObjectMeta: objectMeta(run), Spec: *spec}
		if err := errors.Join(rayutils.ValidateRayServiceMetadata(service.ObjectMeta), rayutils.ValidateRayServiceSpec(service)); err != nil {
			return fmt.Errorf("%s: KubeRay refuses the service: %s", path, oneLine(err))
		}
		return nil
	}
	object := a.rayJob(run, w)
	var errs []error
	// The object as it is authored, and as it is once Kueue has suspended it.
	for _, suspend := range []bool{false, true} {
		spec := a.rayJobSpec(run, w)
		spec.Suspend = suspend
		job := &rayv1.RayJob{ObjectMeta: metav1.ObjectMeta{Name: object.Meta.Name, Labels: object.Meta.Labels}, Spec: *spec}
		if err := errors.Join(rayutils.ValidateRayJobMetadata(job.ObjectMeta), rayutils.ValidateRayJobSpec(job)); err != nil {
			errs = append(errs, fmt.Errorf("%s: KubeRay refuses the job (suspend %t): %s", path, suspend, oneLine(err)))
		}
	}
	return errors.Join(errs...)
}

// oneLine puts errors that were joined behind one path, so that no line is without any.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
