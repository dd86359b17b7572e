package e2e

import (
	"os"
	"strings"

	"ray-on-aks/rehearsal/atomicfile"
	"ray-on-aks/workloads"

	"sigs.k8s.io/yaml"
)

// Paths into the stack's configuration.
const (
	workloadsKey = "ray-on-aks:workloads."
	queuesKey    = "ray-on-aks:queues."
	poolsKey     = "ray-on-aks:infra.pools."
	// smokeKey is the path of the smoke workload.
	smokeKey = workloadsKey + "smoke."
)

// set changes the copy of the stack file that this rehearsal uses; path has
// dots between keys.
func (e *env) set(path string, value any) {
	e.Helper()
	e.edit(path, func(parent map[string]any, key string) { parent[key] = value })
}

// unset takes a key out of the stack file.
func (e *env) unset(path string) {
	e.Helper()
	e.edit(path, func(parent map[string]any, key string) { delete(parent, key) })
}

// only leaves these workloads of the catalog enabled.
func (e *env) only(names ...string) {
	e.Helper()
	for name := range workloads.Catalog() {
		e.set(workloadsKey+name+".enabled", false)
	}
	for _, name := range names {
		e.set(workloadsKey+name+".enabled", true)
	}
}

func (e *env) edit(path string, change func(parent map[string]any, key string)) {
	e.Helper()
	file := e.dir.Join("project", "Pulumi."+e.engine.Stack+".yaml")
	data, err := os.ReadFile(file)
	must(e.T, err)
	var stack map[string]any
	must(e.T, yaml.Unmarshal(data, &stack))
	keys := strings.Split(path, ".")
	parent, ok := stack["config"].(map[string]any)
	for _, key := range keys[:len(keys)-1] {
		if !ok {
			e.Fatalf("%s: no object on the way to it", path)
		}
		if parent[key] == nil {
			parent[key] = map[string]any{}
		}
		parent, ok = parent[key].(map[string]any)
	}
	change(parent, keys[len(keys)-1])
	data, err = yaml.Marshal(stack)
	must(e.T, err)
	must(e.T, atomicfile.Write(file, data))
}
