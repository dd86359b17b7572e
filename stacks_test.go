package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"
)

// resolve decodes a committed stack under a common name, so that only what its file says can differ.
func resolve(t *testing.T, file string) Config {
	t.Helper()
	cfg, err := parse("same", from(stackConfig(t, file)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cfg
}

// TestRehearsalDiffersOnlyHere is the whole list of what the rehearsal does not do as a production stack does. README has it in words.
func TestRehearsalDiffersOnlyHere(t *testing.T) {
	all := differences(resolve(t, "Pulumi.prod-eastus2.yaml"), resolve(t, "Pulumi.rehearsal.yaml"))
	// Models of a few weights are made by variables of the programs alone.
	got := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return strings.HasPrefix(s, "workloads.") && strings.Contains(s, ".env") })
	if len(got) == len(all) {
		t.Error("the rehearsal's programs are told nothing of small models")
	}
	want := []string{
		"infra.cluster.disableLocalAccounts: true -> false",
		"infra.cluster.system.count: 3 -> 2",
		"infra.cluster.system.zones: [1 2 3] -> <nil>",
		"infra.operators.devicePlugin.mode: install -> preinstalled",
		"infra.operators.gpuMonitoring.mode: install -> preinstalled",
		"infra.operators.kuberay.mode: install -> preinstalled",
		"infra.operators.kueue.chart:  -> ./.rehearsal/charts/kueue",
		"infra.pools.a100.max: 2 -> 1",
		"infra.pools.a100.zones: [1] -> <nil>",
		"infra.pools.cpu.max: 8 -> 4",
		"infra.pools.cpu.vmSize: Standard_D16ds_v6 -> Standard_D8ds_v6",
		"infra.pools.cpu.zones: [1 2 3] -> <nil>",
		"infra.protect: true -> false",
		"infra.storage.sku: Standard_ZRS -> Standard_LRS",
		// The stand-in for Ray needs no data, so nothing waits for what stage brings.
		"workloads.aurora-finetune.enabled: false -> true",
		"workloads.batch-inference.enabled: false -> true",
		"workloads.gpt2-tuning.enabled: false -> true",
		"workloads.llm-serving.enabled: false -> true",
		"workloads.llm-training.enabled: false -> true",
		"workloads.online-serving.enabled: false -> true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("differences:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRegionsDifferOnlyInTheirFiles resolves both production stacks: what one has and the other has not stands in one of the two files.
func TestRegionsDifferOnlyInTheirFiles(t *testing.T) {
	files := []string{"Pulumi.prod-eastus2.yaml", "Pulumi.prod-westus3.yaml"}
	said := map[string]bool{}
	for _, file := range files {
		for key, value := range stackConfig(t, file) {
			part, ours := strings.CutPrefix(key, "ray-on-aks:")
			var decoded any
			if !ours || json.Unmarshal([]byte(value), &decoded) != nil {
				continue // location, subscription and profile are texts
			}
			for path := range flatten(part, decoded) {
				said[path] = true
			}
		}
	}
	found := differences(resolve(t, files[0]), resolve(t, files[1]))
	if len(found) == 0 {
		t.Error("the two regions do not differ at all")
	}
	for _, difference := range found {
		if path, _, _ := strings.Cut(difference, ":"); !within(path, said) {
			t.Errorf("neither file says %s", difference)
		}
	}
}

// within says whether the path, or what lies around it, is among those that a file says: a pool that one file declares brings its defaults.
func within(path string, said map[string]bool) bool {
	if said[path] {
		return true
	}
	for p := range said {
		parent := p[:strings.LastIndexByte(p, '.')]
		if strings.HasPrefix(parent, "infra.pools.") && strings.HasPrefix(path, parent+".") {
			return true
		}
	}
	return false
}

// TestEveryStackPreviewsAndUpdates runs the whole program on each committed stack.
func TestEveryStackPreviewsAndUpdates(t *testing.T) {
	for _, file := range stackFiles(t) {
		stack := stackName(file)
		t.Run(stack, func(t *testing.T) {
			config := stackConfig(t, file)
			counts := map[bool]int{}
			for _, preview := range []bool{true, false} {
				r := stacktest.Run(t, program, stacktest.Options{Stack: stack, Config: config, Preview: preview})
				counts[preview] = len(r.Resources)
			}
			if counts[true] != counts[false] || counts[true] < 20 {
				t.Errorf("%d resources in preview, %d in update", counts[true], counts[false])
			}
		})
	}
}

// differences lists the config keys in which two resolved configurations differ, in order.
func differences(a, b Config) []string {
	x, y := keys(a), keys(b)
	var found []string
	all := maps.Clone(x)
	maps.Copy(all, y)
	for path := range all {
		if !reflect.DeepEqual(x[path], y[path]) {
			found = append(found, fmt.Sprintf("%s: %v -> %v", path, x[path], y[path]))
		}
	}
	slices.Sort(found)
	return found
}

// keys lists the leaves of a configuration by the paths that a stack file would give them. What the program joins has no key.
func keys(c Config) map[string]any {
	all := map[string]any{}
	for part, value := range map[string]any{keyInfra: c.Infra, keyQueues: c.Queues, keyWorkloads: c.Workloads.Declared} {
		data, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		var decoded any
		if err := json.Unmarshal(data, &decoded); err != nil {
			panic(err)
		}
		maps.Copy(all, flatten(part, decoded))
	}
	return all
}

// flatten lists the leaves below value; lists are leaves.
func flatten(path string, value any) map[string]any {
	object, ok := value.(map[string]any)
	if !ok {
		return map[string]any{path: value}
	}
	leaves := map[string]any{}
	for key, child := range object {
		maps.Copy(leaves, flatten(path+"."+key, child))
	}
	return leaves
}
