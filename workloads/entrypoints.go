package workloads

import (
	"embed"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"ray-on-aks/internal/strict"

	corev1 "k8s.io/api/core/v1"
)

// entrypoints are the programs that Ray runs and the package that they share; their tests lie outside the patterns.
//
//go:embed entrypoints/*.py entrypoints/raylib/*.py
var entrypoints embed.FS

const (
	// scriptsPath is where a run finds its scripts.
	scriptsPath = "/opt/ray-on-aks/scripts"
	// sharedPackage is the package that programs share, a folder beside them.
	sharedPackage = "raylib"
)

// definesApp finds the programs that a RayService can serve: those with an app, or with a function that makes it when it is asked for.
var definesApp = regexp.MustCompile(`(?m)^(app\s*[:=]|def (app|__getattr__)\()`)

// Scripts lists the programs that a workload may name.
func Scripts() []string { return pythonFiles(".") }

// pythonFiles lists the files of a folder of entrypoints, in order.
func pythonFiles(folder string) []string {
	// The pattern is constant, and an embedded file system has no other errors.
	files, _ := fs.Glob(entrypoints, path.Join("entrypoints", folder, "*.py"))
	for i, file := range files {
		files[i] = strings.TrimPrefix(file, "entrypoints/")
	}
	return files
}

// scriptsOf returns the files that w needs, by path: its program and what that imports of the shared package. Each run has its own copy:
// were they shared, a change to one program would take away the file that a running job of another still starts its retries from.
func scriptsOf(w Workload) (map[string]string, error) {
	if w.Script == "" {
		return nil, nil
	}
	data, err := entrypoints.ReadFile(path.Join("entrypoints", w.Script))
	if err != nil || path.Base(w.Script) != w.Script {
		return nil, strict.Unknown("program", w.Script, Scripts())
	}
	files := map[string]string{w.Script: string(data)}
	return files, addShared(files, data)
}

// leaveModule is what a job's pods run before they end: it asks the driver to save, and waits for that. Ray itself would kill the driver.
// Every program imports it, so that it is among the scripts.
const leaveModule = "leave"

// leave is the hook of a job's pods that runs leaveModule. Kubernetes waits for it within the 30 seconds that a pod has to end.
func leave() *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
		Command: []string{"python", "-m", sharedPackage + "." + leaveModule},
	}}}
}

// scriptKey is the key of a file in its ConfigMap, where a slash is not allowed. The volume puts the slash back.
func scriptKey(file string) string { return strings.ReplaceAll(file, "/", ".") }

// servedBy is what Ray Serve imports for w: module:attribute.
func servedBy(w Workload) string {
	if w.Script == "" {
		return w.Entrypoint
	}
	return strings.TrimSuffix(w.Script, ".py") + ":app"
}
