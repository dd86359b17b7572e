package workloads

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"ray-on-aks/internal/strict"
)

// programsJSON is what the programs say of themselves, by script. A test writes it and holds it to them.
//
//go:embed programs.json
var programsJSON []byte

// needs is what a program of this repository needs of its workload. Its parameters are variables that begin with its prefix.
type needs struct {
	Prefix string `json:"prefix"`
	// Output is whether it must have one.
	Output bool `json:"output"`
	// Knobs are the names of its parameters, without the prefix.
	Knobs []string `json:"knobs"`
	// Device is where it computes, cuda or cpu, and Engine what generates, where it has that choice.
	Device string `json:"device,omitempty"`
	Engine string `json:"engine,omitempty"`
	// Paths are the folders that it reads, <container>/<prefix>, by the parameter that names another.
	Paths map[string]string `json:"paths,omitempty"`
	// Adapters is the folder that it writes adapters to; no parameter names another.
	Adapters string `json:"adapters,omitempty"`
	// Items are what it brings, unless its parameter ITEMS says otherwise, and Folders where each is put.
	Items   []string          `json:"items,omitempty"`
	Folders map[string]string `json:"folders,omitempty"`
}

// The parameters that decide what a program needs, and the values with which it needs less.
const (
	knobConfig, knobItems   = "CONFIG", "ITEMS"
	knobDevice, deviceCPU   = "DEVICE", "cpu"
	knobEngine, engineOnCPU = "ENGINE", "transformers"
	deviceGPU, engineOnGPU  = "cuda", "vllm"
	knobAdapters            = "ADAPTERS"
	knobAdapter, noAdapter  = "ADAPTER", "none"
)

// programs are what each program needs.
var programs = sync.OnceValue(func() map[string]needs {
	table := map[string]needs{}
	// The file is embedded, and a test reads it.
	_ = json.Unmarshal(programsJSON, &table)
	return table
})

// given returns what the workload gives a program for a parameter, or else what the program takes without.
func (n needs) given(w Workload, knob, otherwise string) string {
	if value, ok := w.Env[n.Prefix+knob]; ok {
		return value
	}
	return otherwise
}

// inFile says whether a file in the image or the storage may give parameters, of which nothing is known here.
func (n needs) inFile(w Workload) bool { return n.given(w, knobConfig, "") != "" }

// validateNeeds refuses a workload that lacks what its program needs: the program would say so when its nodes are up.
func (a Args) validateNeeds(path, name string, w Workload) error {
	program, ok := programs()[w.Script]
	if !ok || w.validateScript(path, name) != nil {
		return nil //nolint:nilerr // it is said where scripts are checked
	}
	errs := []error{program.checkKnobs(path+".env", w)}
	if program.Output && w.Output == "" && w.Kind == KindRayJob {
		errs = append(errs, fmt.Errorf("%s.output: must be set, since %s leaves its results there, for example %s", path, w.Script, exampleOutput(w)))
	}
	if !program.inFile(w) {
		errs = append(errs, a.checkMounted(path, program, w), w.checkDevice(path))
	}
	return errors.Join(errs...)
}

// exampleOutput is that of the catalog where it is mounted, or one in a container that is.
func exampleOutput(w Workload) string {
	example := ""
	for _, name := range Catalog().Names() {
		if entry := Catalog()[name]; entry.Script == w.Script && example == "" {
			example = entry.Output
		}
	}
	if container := containerOf(example); len(w.Storage) > 0 && !slices.Contains(w.Storage, container) {
		return w.Storage[0] + "/runs"
	}
	return example
}

// checkKnobs refuses variables with the program's prefix that it would refuse. Those that others set are refused as such.
func (n needs) checkKnobs(path string, w Workload) error {
	known := slices.Sorted(slices.Values(append([]string{knobConfig}, n.Knobs...)))
	would := slices.DeleteFunc(slices.Clone(known), func(knob string) bool {
		_, given := w.Env[n.Prefix+knob]
		return given || n.Prefix+knob == serveToken
	})
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		knob, ours := strings.CutPrefix(name, n.Prefix)
		if !ours || slices.Contains(known, knob) {
			continue
		}
		hint := fmt.Sprintf("; its parameters are %s, each after %s", strict.List(would), n.Prefix)
		// What all of them begin with makes none of them nearer.
		if near := strict.Nearest(knob, would); near != "" {
			hint = "; did you mean " + n.Prefix + near + "?"
		}
		errs = append(errs, fmt.Errorf("%s.%s: %s has no parameter of that name%s", path, name, w.Script, hint))
	}
	return errors.Join(errs...)
}

// checkMounted refuses a workload that does not mount what its program reads and writes, once a container. What else is wrong with
// storage and output is reported by itself.
func (a Args) checkMounted(at string, n needs, w Workload) error {
	missing := map[string][]string{}
	var errs []error
	need := func(folder string) {
		container := containerOf(folder)
		if container != "" && container != containerOf(w.Output) && !slices.Contains(w.Storage, container) {
			missing[container] = append(missing[container], folder)
		}
	}
	for _, knob := range slices.Sorted(maps.Keys(n.Paths)) {
		if knob == knobAdapters && n.given(w, knobAdapter, "") == noAdapter {
			continue
		}
		need(path.Clean(n.given(w, knob, n.Paths[knob])))
	}
	need(n.Adapters)
	items := n.Items
	if value := n.given(w, knobItems, ""); value != "" {
		items = strings.Split(value, ",")
	}
	for _, item := range items {
		need(n.Folders[strings.TrimSpace(item)])
	}
	if w.Enabled && slices.ContainsFunc(w.Storage, func(name string) bool { return !slices.Contains(a.Containers, name) }) {
		return nil
	}
	for _, container := range slices.Sorted(maps.Keys(missing)) {
		add := "add " + container + " to it"
		if w.Enabled && !slices.Contains(a.Containers, container) {
			add += " and to infra.storage.containers"
		}
		errs = append(errs, fmt.Errorf("%s.storage: lacks %s, where %s has %s: %s%s", at, container, w.Script, strict.List(missing[container]), add,
			n.instead(missing[container], w)))
	}
	return errors.Join(errs...)
}

// instead names the variables by which a program would look elsewhere for all of the folders, if there are such.
func (n needs) instead(folders []string, w Workload) string {
	var names []string
	for _, folder := range folders {
		for _, knob := range slices.Sorted(maps.Keys(n.Paths)) {
			if n.Paths[knob] == folder && n.given(w, knob, folder) == folder {
				names = append(names, "env."+n.Prefix+knob)
			}
		}
	}
	if len(names) < len(folders) || len(w.Storage) == 0 {
		return ""
	}
	return ", or say by " + strict.List(names) + " where else it is"
}

// checkDevice refuses a program that computes on GPUs where its workers have none.
func (w Workload) checkDevice(path string) error {
	n, ok := programs()[w.Script]
	if !ok || w.Worker.GPUs != 0 || n.inFile(w) {
		return nil
	}
	device := n.given(w, knobDevice, n.Device) == deviceGPU
	engine := n.given(w, knobEngine, n.Engine) == engineOnGPU
	if !device && !engine {
		return nil
	}
	var set []string
	if device {
		set = append(set, fmt.Sprintf("env.%s%s: %s", n.Prefix, knobDevice, deviceCPU))
	}
	if engine {
		set = append(set, fmt.Sprintf("env.%s%s: %s", n.Prefix, knobEngine, engineOnCPU))
	}
	return fmt.Errorf("%s.worker.gpus: must be 1 at least, since %s computes on GPUs; or set %s", path, w.Script, strings.Join(set, " and "))
}

// containerOf is the first part of <container>/<prefix>; empty for what is no such path, which is reported by itself.
func containerOf(folder string) string {
	container, _, _ := strings.Cut(folder, "/")
	if container == "." || container == ".." {
		return ""
	}
	return container
}
