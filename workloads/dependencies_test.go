package workloads

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	dashboard "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// distributions are the names under which libraries are locked that are imported by another.
var distributions = map[string]string{"aurora": "microsoft-aurora", "huggingface_hub": "huggingface-hub", "netCDF4": "netcdf4"}

// TestProgramsSayWhatTheyNeed: what a program imports, at any depth of what it brings along, is in its lock, or for an engine that is one
// of two in either; one that imports nothing waits for no installation.
func TestProgramsSayWhatTheyNeed(t *testing.T) {
	for script, imports := range imported(t) {
		needs := dependencies[script]
		if (needs.gpus == "") != (len(imports.Libraries) == 0) {
			t.Errorf("%s imports %v and has the lock %q", script, imports.Libraries, needs.gpus)
			continue
		}
		locked := ""
		for _, image := range []string{needs.gpus, needs.cpus} {
			if image == "" {
				continue
			}
			lock, err := locks.ReadFile("images/" + image + "/requirements.txt")
			if err != nil {
				t.Fatal(err)
			}
			locked += "\n" + string(lock)
		}
		for _, library := range imports.Libraries {
			if name, ok := distributions[library]; ok {
				library = name
			}
			if !strings.Contains(locked, "\n"+library+"==") {
				t.Errorf("%s imports %s, which its lock %q lacks", script, library, needs.gpus)
			}
		}
	}
}

// TestAnEngineForWhatThereIs: without GPUs the libraries are those of the engine for CPUs.
func TestAnEngineForWhatThereIs(t *testing.T) {
	a := stack(nil)
	for gpus, want := range map[int64]string{0: "llm", 1: "vllm"} {
		w := a.resolved(Catalog()["batch-inference"])
		w.Worker.GPUs = gpus
		if got := a.installs(w); got != want {
			t.Errorf("with %d GPUs it installs %s, want %s", gpus, got, want)
		}
	}
}

// TestDefaultImageIsCompleted: the environment installs from a lock that is where the environment says.
func TestDefaultImageIsCompleted(t *testing.T) {
	a := stack(entry("llm-training"))
	w := a.resolved(a.Declared["llm-training"])
	run, err := a.run("llm-training", w)
	if err != nil {
		t.Fatal(err)
	}
	env, err := dashboard.UnmarshalRuntimeEnvYAML(a.rayJobSpec(run, w).RuntimeEnvYAML)
	if err != nil {
		t.Fatal(err)
	}
	for _, container := range []corev1.Container{a.head(run, w).Spec.Containers[0], a.worker(run, w).Spec.Containers[0]} {
		i := slices.IndexFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == startTimeoutEnv })
		if i < 0 || container.Env[i].Value != strconv.Itoa(startTimeout) {
			t.Errorf("%s does not say how long a job may be pending: %v", container.Name, container.Env)
		}
	}
	packages := env["pip"].(map[string]any)["packages"].([]any)
	if len(packages) != 1 || packages[0] != "-r /opt/ray-on-aks/scripts/requirements.txt" {
		t.Fatalf("packages: %v", packages)
	}
	pod := a.worker(run, w).Spec
	mount := pod.Containers[0].VolumeMounts[0]
	found := false
	for _, item := range pod.Volumes[0].ConfigMap.Items {
		found = found || mount.MountPath+"/"+item.Path == "/opt/ray-on-aks/scripts/requirements.txt" && strings.Contains(run.scripts[item.Path], "llamafactory==")
	}
	if !found {
		t.Errorf("the lock is not among %v", pod.Volumes[0].ConfigMap.Items)
	}
}

// TestTheDefaultImageIsToldWhatTheOthersSay: a program finds the same variables in either.
func TestTheDefaultImageIsToldWhatTheOthersSay(t *testing.T) {
	files, err := filepath.Glob("images/*/Dockerfile")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, said, _ := strings.Cut(string(data), "\nENV ")
		got := map[string]string{}
		for _, word := range strings.Fields(strings.ReplaceAll(said, "\\", "")) {
			name, value, _ := strings.Cut(word, "=")
			got[name] = value
		}
		if !maps.Equal(got, imageEnv()) {
			t.Errorf("%s sets %v, the pods have %v", file, got, imageEnv())
		}
	}
	// A variable of the workload's own wins, as it does over an image's.
	own := map[string]string{"PYTORCH_CUDA_ALLOC_CONF": "mine"}
	a := stack(entry("llm-training", func(w *Workload) { w.Env = own }))
	w := a.resolved(a.Declared["llm-training"])
	run, err := a.run("llm-training", w)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range a.worker(run, w).Spec.Containers[0].Env {
		found[e.Name] = e.Value
	}
	if found["PYTORCH_CUDA_ALLOC_CONF"] != "mine" || found["HF_HUB_DISABLE_TELEMETRY"] != "1" {
		t.Errorf("got %v", found)
	}
}

// TestAnImageOfOnesOwnIsLeftAlone: it has its libraries.
func TestAnImageOfOnesOwnIsLeftAlone(t *testing.T) {
	own := func(w *Workload) { w.Image = "example/mine:1" }
	for name, declared := range map[string]Declared{"llm-training": entry("llm-training", own), "online-serving": service(own), "smoke": job()} {
		a := stack(declared)
		object, err := a.Render(name)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := a.Runs()
		if err != nil {
			t.Fatal(err)
		}
		if _, brings := runs[0].scripts[lockFile]; brings {
			t.Errorf("%s brings a lock", name)
		}
		switch spec := object.Spec.(type) {
		case *rayv1.RayJobSpec:
			if spec.RuntimeEnvYAML != "" {
				t.Errorf("%s installs %s", name, spec.RuntimeEnvYAML)
			}
		case *rayv1.RayServiceSpec:
			if strings.Contains(spec.ServeConfigV2, "runtime_env") {
				t.Errorf("%s installs %s", name, spec.ServeConfigV2)
			}
		}
	}
}

// TestInstallingIsWarnedOf, once an image.
func TestInstallingIsWarnedOf(t *testing.T) {
	declared := entry("llm-training")
	declared["gpt2-tuning"], declared["smoke"] = entry("gpt2-tuning")["gpt2-tuning"], job()["smoke"]
	declared["stage"] = entry("stage", func(w *Workload) { w.Image = "example/mine:1" })["stage"]
	got := stack(declared).Warnings()
	want := "workloads.gpt2-tuning.image, workloads.llm-training.image: not set, so every pod first installs the libraries of workloads/images/llm, " +
		"which may take many minutes of its node; build that image once and name it there"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q", got)
	}
}

// TestServicesInstallToo: what a job has at its top, an application of Ray Serve has in its own config.
func TestServicesInstallToo(t *testing.T) {
	a := stack(service())
	object, err := a.Render("online-serving")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Applications []struct {
			RuntimeEnv runtimeEnv `json:"runtime_env"`
		} `json:"applications"`
	}
	if err := yaml.Unmarshal([]byte(object.Spec.(*rayv1.RayServiceSpec).ServeConfigV2), &config); err != nil {
		t.Fatal(err)
	}
	if got := config.Applications[0].RuntimeEnv; len(got.Pip.Packages) != 1 || got.Config.SetupTimeoutSeconds != installTimeout {
		t.Errorf("got %+v", got)
	}
}
