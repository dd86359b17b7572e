package workloads

import (
	"fmt"
	"path"
	"regexp"
	"slices"
)

// The ways in which a program imports from the shared package: one module, or names in parentheses or up to the end of the line.
var (
	importsModule = regexp.MustCompile(`(?m)^\s*(?:from|import)\s+` + sharedPackage + `\.(\w+)`)
	importsNames  = regexp.MustCompile(`(?m)^\s*from\s+` + sharedPackage + `\s+import\s+(\([^)]*\)|[^\n]*)`)
	// notNames is what may stand among the names without being one.
	notNames = regexp.MustCompile(`#[^\n]*|\bas\s+\w+`)
	word     = regexp.MustCompile(`\w+`)
)

// sharedModules lists the modules of the shared package that a source imports, wherever in it.
func sharedModules(source []byte) []string {
	var modules []string
	for _, m := range importsModule.FindAllSubmatch(source, -1) {
		modules = append(modules, string(m[1]))
	}
	for _, m := range importsNames.FindAllSubmatch(source, -1) {
		for _, name := range word.FindAll(notNames.ReplaceAll(m[1], nil), -1) {
			modules = append(modules, string(name))
		}
	}
	if len(modules) > 0 {
		modules = append(modules, "__init__")
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// addShared adds to files what a source imports of the shared package, and what that imports in turn, and nothing else: a change to a
// module makes another run of those programs alone that use it.
func addShared(files map[string]string, source []byte) error {
	for _, module := range sharedModules(source) {
		file := path.Join(sharedPackage, module+".py")
		if _, ok := files[file]; ok {
			continue
		}
		data, err := entrypoints.ReadFile(path.Join("entrypoints", file))
		if err != nil {
			return fmt.Errorf("reading a module of the shared package: %w", err)
		}
		files[file] = string(data)
		if err := addShared(files, data); err != nil {
			return err
		}
	}
	return nil
}
