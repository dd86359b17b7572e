package workloads

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ray-on-aks/internal/strict"
)

var (
	// importPath is what Ray Serve takes: module:attribute, the module with dots.
	importPath = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$`)
	// routePrefix is what Ray Serve takes, less what its own endpoints begin with. https://github.com/ray-project/ray/blob/ray-2.55.1/python/ray/serve/schema.py
	routePrefix = regexp.MustCompile(`^(/|(/[A-Za-z0-9._~][A-Za-z0-9._~-]*)+)$`)
)

// Linux starts no process with an argument or a variable of 128 KiB: MAX_ARG_STRLEN, in which the byte 0 at the end counts.
// https://github.com/torvalds/linux/blob/v6.12/include/uapi/linux/binfmts.h
const (
	maxArgument = 128<<10 - 1
	// maxVariable leaves room for the = after a variable's name, and for the folder that is put before its PYTHONPATH.
	maxVariable = maxArgument - 1 - len(scriptsPath+":")
	// maxEntrypoint leaves room for the rest of KubeRay's line, in which the job's names and its libraries are.
	maxEntrypoint = maxArgument - 4<<10
)

// checkArgument refuses what no process can be given.
func checkArgument(path, text string, most int) error {
	switch {
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%s: must be without the character 0, with which Linux ends a text; leave it out", path)
	case len(text) > most:
		return fmt.Errorf("%s: must be at most %d bytes, got %d: Linux starts no process that is given more; put it into a file in a container of storage",
			path, most, len(text))
	}
	return nil
}

// validateProgram checks what runs, and in which image.
func (w Workload) validateProgram(path, name string) error {
	var errs []error
	if (w.Script == "") == (w.Entrypoint == "") {
		hint := ""
		if names := Catalog().Names(); w.Script == "" && !slices.Contains(names, name) && strict.Nearest(name, names) != "" {
			// An entry of the catalog brings its script along; a misspelt one is a new workload without any.
			hint = strict.Hint(name, names)
		}
		if script := Catalog()[name].Script; script != "" && w.Script == script {
			hint = fmt.Sprintf(": the catalog's %s has script %s; script: \"\" makes room for an entrypoint", name, script)
		}
		errs = append(errs, fmt.Errorf("%s: exactly one of script and entrypoint must be set%s", path, hint))
	}
	errs = append(errs, w.validateImage(path+".image"), w.validateScript(path, name))
	argument := checkArgument(path+".entrypoint", w.Entrypoint, maxEntrypoint)
	switch {
	case argument != nil:
		errs = append(errs, argument)
	case w.Kind == KindRayService:
		errs = append(errs, w.validateServed(path))
	default:
		errs = append(errs, w.checkCommand(path))
	}
	return errors.Join(errs...)
}

// validateScript checks that the script exists, and is for the kind. Only those that are for it are suggested.
func (w Workload) validateScript(path, name string) error {
	var fit []string
	for _, script := range Scripts() {
		if serves()[script] == (w.Kind == KindRayService) {
			fit = append(fit, script)
		}
	}
	entry, cataloged := Catalog()[name]
	switch {
	case w.Script == "" || slices.Contains(fit, w.Script):
		return nil
	case cataloged && entry.Kind == w.Kind && slices.Contains(Scripts(), w.Script):
		// The kind of an entry of the catalog stays.
		other := KindRayService
		if w.Kind == other {
			other = KindRayJob
		}
		return fmt.Errorf("%s.script: %s is for a %s, and %s is a %s in the catalog; declare a workload of another name with it",
			path, w.Script, other, name, w.Kind)
	case !slices.Contains(Scripts(), w.Script):
		return fmt.Errorf("%s.script: %w", path, strict.Unknown("program", w.Script, fit))
	case w.Kind == KindRayService:
		return fmt.Errorf("%s.script: %s has no app that a %s could serve; run it as a %s", path, w.Script, w.Kind, KindRayJob)
	default:
		return fmt.Errorf("%s.kind: must be %s, got %s: %s serves until it is stopped, and would end only by the job's deadline",
			path, KindRayService, w.Kind, w.Script)
	}
}

// serves says which programs have an app. They are embedded, so it is found out once.
var serves = sync.OnceValue(func() map[string]bool {
	has := map[string]bool{}
	for _, script := range Scripts() {
		program, err := entrypoints.ReadFile(path.Join("entrypoints", script))
		has[script] = err == nil && definesApp.Match(program)
	}
	return has
})

// validateServed checks what Ray Serve imports, and where it answers.
func (w Workload) validateServed(path string) error {
	var errs []error
	if w.Entrypoint != "" && !importPath.MatchString(w.Entrypoint) {
		errs = append(errs, fmt.Errorf("%s.entrypoint: of a %s must be module:attribute, for example package.module:app, got %q", path, w.Kind, w.Entrypoint))
	}
	if !isRoute(w.RoutePrefix) {
		errs = append(errs, fmt.Errorf("%s.routePrefix: must begin with / and not end with one, without segments . and .., for example /aurora, got %q%s",
			path, w.RoutePrefix, slashed(w.RoutePrefix)))
	}
	return errors.Join(errs...)
}

// isRoute says whether requests can ask for the prefix: clients and proxies take the segments . and .. out of a path.
func isRoute(prefix string) bool {
	return routePrefix.MatchString(prefix) && path.Clean(prefix) == prefix
}

// slashed suggests the prefix with its slashes put right.
func slashed(prefix string) string {
	if better := path.Clean("/" + prefix); prefix != "" && isRoute(better) {
		return fmt.Sprintf("; did you mean %s?", better)
	}
	return ""
}
