package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ray-on-aks/internal/crd"
	"ray-on-aks/workloads"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestProgramsTakeWhatBuildersGive asks each program of each committed stack whether it takes the variables of its pods. Whether it is
// enabled there makes no difference.
func TestProgramsTakeWhatBuildersGive(t *testing.T) {
	asked := map[string]bool{}
	for _, file := range stackFiles(t) {
		args := resolve(t, file).Workloads
		for _, name := range args.Declared.Names() {
			w := args.Declared[name]
			if w.Script == "" {
				continue
			}
			asked[w.Script] = true
			if w.Team == "" {
				w.Team = args.Tenants[0].Name
				args.Declared[name] = w
			}
			out, err := checkConfig(t, args, name, w.Script)
			if err != nil {
				t.Errorf("%s, %s: %v\n%s", file, name, err, out)
				continue
			}
			checkPlaces(t, name, out)
		}
	}
	for _, script := range workloads.Scripts() {
		if !asked[script] {
			t.Errorf("no workload of the catalog runs %s", script)
		}
	}
}

// places says, by the parameter of a program, where the stack's outputs say that it looks or writes.
var places = map[string]map[string]string{
	"base": workloads.Inputs(), "data": workloads.Inputs(), "adapters": workloads.Adapters(),
}

// checkPlaces holds the defaults of a program to what the stack's outputs say of them.
func checkPlaces(t *testing.T, name, out string) {
	t.Helper()
	var said struct {
		Parameters map[string]any `json:"parameters"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	for parameter, outputs := range places {
		path, ok := said.Parameters[parameter].(string)
		if !ok {
			continue
		}
		container, _, _ := strings.Cut(path, "/")
		if place := outputs[container]; place == "" || path != place && !strings.HasPrefix(path, place+"/") {
			t.Errorf("%s has %s in %s, the outputs say %q", name, parameter, path, place)
		}
	}
}

// TestAProgramRefusesWhatItDoesNotKnow: the check above can fail.
func TestAProgramRefusesWhatItDoesNotKnow(t *testing.T) {
	args := resolve(t, "Pulumi.dev.yaml").Workloads
	w := args.Declared["smoke"]
	w.Env = map[string]string{"SMOKE_TASK": "8"}
	args.Declared["smoke"] = w
	if out, err := checkConfig(t, args, "smoke", w.Script); err == nil || !strings.Contains(out, "SMOKE_TASKS") {
		t.Errorf("got %v, %s", err, out)
	}
}

// checkConfig runs the workload's program with the variables of its head pod, and without any other.
func checkConfig(t *testing.T, args workloads.Args, name, script string) (string, error) {
	t.Helper()
	object, err := args.Render(name)
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		RayClusterSpec   rayv1.RayClusterSpec `json:"rayClusterSpec"`
		RayClusterConfig rayv1.RayClusterSpec `json:"rayClusterConfig"`
	}
	fields, err := crd.Fields(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		t.Fatal(err)
	}
	pods := append(spec.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers, spec.RayClusterConfig.HeadGroupSpec.Template.Spec.Containers...)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("workloads/entrypoints")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(python, filepath.Join(folder, script), "--check-config")
	command.Env = append(variables(pods[0].Env, folder), "HOME="+os.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := command.CombinedOutput()
	return string(out), err
}

// variables are those of a container as a process has them. A service's token comes from a Secret.
func variables(env []corev1.EnvVar, folder string) []string {
	var all []string
	for _, e := range env {
		switch {
		case e.ValueFrom != nil:
			e.Value = strings.Repeat("x", 48)
		case e.Name == "PYTHONPATH":
			e.Value = folder
		}
		all = append(all, e.Name+"="+e.Value)
	}
	return all
}
