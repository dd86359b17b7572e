package workloads

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ray-on-aks/internal/strict"

	"github.com/distribution/reference"
	"github.com/google/shlex"
)

var (
	// importPath is what Ray Serve takes: module:attribute, the module with dots.
	importPath = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$`)
	// routePrefix is what Ray Serve takes, less what its own endpoints begin with. https://github.com/ray-project/ray/blob/ray-2.55.1/python/ray/serve/schema.py
	routePrefix = regexp.MustCompile(`^(/|(/[A-Za-z0-9._~][A-Za-z0-9._~-]*)+)$`)
)

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
	// The parser is the kubelet's own.
	if _, err := reference.ParseNormalizedNamed(w.Image); err != nil {
		errs = append(errs, fmt.Errorf("%s.image: %q is no image, such as registry/repository:tag: %w", path, w.Image, err))
	}
	files, err := scriptsOf(w)
	if err != nil {
		errs = append(errs, fmt.Errorf("%s.script: %w", path, err))
	}
	if w.Kind == KindRayService {
		errs = append(errs, w.validateServed(path, files))
	} else {
		errs = append(errs, checkCommand(path, w.Entrypoint))
	}
	return errors.Join(errs...)
}

// checkCommand refuses what bash would refuse when the pods are up: KubeRay pastes the command into a line of it.
func checkCommand(path, command string) error {
	if words, err := shlex.Split(command); err != nil {
		return fmt.Errorf("%s.entrypoint: %q is no command line: %w", path, command, err)
	} else if command != "" && len(words) == 0 {
		return fmt.Errorf("%s.entrypoint: has no command in it, got %q", path, command)
	}
	return nil
}

// validateServed checks what Ray Serve imports, and where it answers.
func (w Workload) validateServed(path string, files map[string]string) error {
	var errs []error
	if w.Entrypoint != "" && !importPath.MatchString(w.Entrypoint) {
		errs = append(errs, fmt.Errorf("%s.entrypoint: of a %s must be module:attribute, for example package.module:app, got %q", path, w.Kind, w.Entrypoint))
	}
	if program, ok := files[w.Script]; ok && !definesApp.MatchString(program) {
		errs = append(errs, fmt.Errorf("%s.script: %s has no app that a %s could serve; run it as a %s", path, w.Script, w.Kind, KindRayJob))
	}
	if !routePrefix.MatchString(w.RoutePrefix) {
		errs = append(errs, fmt.Errorf("%s.routePrefix: must begin with / and not end with one, for example /aurora, got %q%s",
			path, w.RoutePrefix, slashed(w.RoutePrefix)))
	}
	return errors.Join(errs...)
}

// slashed suggests the prefix with its slashes put right.
func slashed(prefix string) string {
	if better := "/" + strings.Trim(prefix, "/"); routePrefix.MatchString(better) {
		return fmt.Sprintf("; did you mean %s?", better)
	}
	return ""
}
