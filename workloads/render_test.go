package workloads

import (
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// golden renders with a fixed identity and one script: the bytes of the real ones change without that the objects do.
func golden(t *testing.T, a Args, name string) {
	t.Helper()
	w := a.resolved(a.Declared[name])
	run := Run{
		Workload: name, Kind: w.Kind, Namespace: "ray-a", Name: name + "-0123abcd", ID: name + "-4567cdef", ScriptsName: name + "-scripts-89abef01",
		Output: w.Output, scripts: map[string]string{w.Script: "", "raylib/run.py": ""},
	}
	if a.installs(w) != "" {
		run.scripts[lockFile] = "torch==2.9.1"
	}
	object := a.rayJob(run, w)
	if w.Kind == KindRayService {
		run.Name = name
		var err error
		if object, err = a.rayService(run, w); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := crd.Fields(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := spec["suspend"]; ok {
		t.Error("suspend is authored; it is Kueue's")
	}
	stacktest.Golden(t, strings.ToLower(string(w.Kind))+"-"+name, map[string]any{"metadata": object.Meta, "spec": spec})
}

func TestGoldenObjects(t *testing.T) {
	golden(t, stack(job(func(w *Workload) {
		w.Env = map[string]string{"SMOKE_TIMEOUT_SECONDS": "300", "SMOKE_TASKS": "32", "PYTHONPATH": "/mine"}
	})), "smoke")
	golden(t, stack(entry("llm-training", func(w *Workload) { w.Pool = "gpu"; w.Priority = "high" })), "llm-training")
	golden(t, stack(service()), "online-serving")
}

// TestOnlyGPUWorkersGoToGPUNodes covers all pods of the catalog.
func TestOnlyGPUWorkersGoToGPUNodes(t *testing.T) {
	for name := range Catalog() {
		a := stack(entry(name))
		w := a.resolved(a.Declared[name])
		run, err := a.run(name, w)
		if err != nil {
			t.Fatal(err)
		}
		cluster := a.rayCluster(run, w)
		others := []corev1.PodTemplateSpec{cluster.HeadGroupSpec.Template}
		if w.Kind == KindRayJob {
			others = append(others, *a.submitter(w))
		}
		for _, template := range others {
			if _, gpu := template.Spec.Containers[0].Resources.Limits[aks.ResourceGPU]; gpu || len(template.Spec.Tolerations) > 0 {
				t.Errorf("%s: %s is let onto GPU nodes", name, template.Spec.Containers[0].Name)
			}
		}
		worker := cluster.WorkerGroupSpecs[0].Template.Spec
		taint := aks.TaintGPU()
		tolerates := slices.ContainsFunc(worker.Tolerations, func(t corev1.Toleration) bool {
			return t.Key == taint.Key && t.Value == taint.Value && t.Effect == taint.Effect && t.Operator == corev1.TolerationOpEqual
		})
		if gpus := worker.Containers[0].Resources.Limits[aks.ResourceGPU]; tolerates != (w.Worker.GPUs > 0) || gpus.Value() != w.Worker.GPUs {
			t.Errorf("%s: the workers tolerate GPU nodes: %t, and ask for %s GPUs", name, tolerates, gpus.String())
		}
	}
}

// TestServicesAreOutsideKueue: no label of Kueue's is on a service, and both of its pod sets are pinned.
func TestServicesAreOutsideKueue(t *testing.T) {
	a := stack(service())
	object, err := a.Render("online-serving")
	if err != nil {
		t.Fatal(err)
	}
	for label := range object.Meta.Labels {
		if strings.Contains(label, "kueue") {
			t.Errorf("label %s", label)
		}
	}
	spec := object.Spec.(*rayv1.RayServiceSpec)
	head := spec.RayClusterSpec.HeadGroupSpec.Template.Spec.NodeSelector[aks.LabelPool]
	workers := spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.NodeSelector[aks.LabelPool]
	if head != "cpu" || workers != "serve" {
		t.Errorf("the head is on %q, the workers are on %q", head, workers)
	}
}

// TestServeConfig reads the config as Ray Serve does.
func TestServeConfig(t *testing.T) {
	other := func(w *Workload) { w.Script, w.Entrypoint, w.RoutePrefix = "", "mine.serving:builder", "" }
	for want, declared := range map[string]Declared{
		"serve_aurora:app /aurora": service(),
		"mine.serving:builder /":   service(other),
	} {
		a := stack(declared)
		object, err := a.Render("online-serving")
		if err != nil {
			t.Fatal(err)
		}
		var config struct {
			Applications []struct {
				Name        string `json:"name"`
				ImportPath  string `json:"import_path"`
				RoutePrefix string `json:"route_prefix"`
				RuntimeEnv  any    `json:"runtime_env"`
			} `json:"applications"`
		}
		if err := yaml.UnmarshalStrict([]byte(object.Spec.(*rayv1.RayServiceSpec).ServeConfigV2), &config); err != nil {
			t.Fatal(err)
		}
		app := config.Applications[0]
		if got := app.ImportPath + " " + app.RoutePrefix; got != want || app.Name != "online-serving" {
			t.Errorf("%s: got %s, want %s", app.Name, got, want)
		}
	}
}

func TestServicesAnswerAtAStableAddress(t *testing.T) {
	a := stack(service())
	a.Declared["smoke"] = job()["smoke"]
	runs, err := a.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, run := range runs {
		urls = append(urls, run.URL())
	}
	if want := []string{"http://online-serving-serve-svc.ray-a.svc:8000/aurora", ""}; !slices.Equal(urls, want) {
		t.Errorf("got %q, want %q", urls, want)
	}
}

// TestUpgradeNeedsTheRoomOfTwo: where a second cluster has no room, a change of the cluster replaces the service.
func TestUpgradeNeedsTheRoomOfTwo(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Args)
		want   rayv1.RayServiceUpgradeType
	}{
		"one node":  {func(*Args) {}, rayv1.RayServiceUpgradeNone},
		"two nodes": {func(a *Args) { a.Pools[2].Nodes = 2 }, rayv1.RayServiceNewCluster},
		"two nodes, one head": {func(a *Args) {
			a.Pools[2].Nodes, a.Pools[0].Nodes = 2, 1
			w := a.Declared["online-serving"]
			w.Head = size("4", "8Gi")
			a.Declared["online-serving"] = w
		}, rayv1.RayServiceUpgradeNone},
		// Eight GPUs hold two, but jobs may have taken the rest.
		"shared pool": {func(a *Args) { move(a, "gpu") }, rayv1.RayServiceUpgradeNone},
		"two nodes and another service": {func(a *Args) {
			a.Pools[2].Nodes = 2
			a.Declared["second"] = a.Declared["online-serving"]
		}, rayv1.RayServiceUpgradeNone},
	} {
		a := stack(service())
		test.change(&a)
		w := a.resolved(a.Declared["online-serving"])
		if got := a.upgrade(w); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		options, err := pulumi.NewResourceOptions((&Workloads{args: a}).changes(w)...)
		if err != nil {
			t.Fatal(err)
		}
		replaces := slices.Equal(options.ReplaceOnChanges, []string{"spec.rayClusterConfig"}) && options.DeleteBeforeReplace
		if want := test.want == rayv1.RayServiceUpgradeNone; replaces != want || len(options.IgnoreChanges) > 0 {
			t.Errorf("%s: replaces on changes: %t, want %t", name, replaces, want)
		}
	}
}

// move puts the service onto another pool.
func move(a *Args, pool string) {
	w := a.Declared["online-serving"]
	w.Pool = pool
	a.Declared["online-serving"] = w
}

// TestProgramsFindTheirPlaces: what is told in variables is what is mounted.
func TestProgramsFindTheirPlaces(t *testing.T) {
	a := stack(entry("aurora-finetune"))
	w := a.resolved(a.Declared["aurora-finetune"])
	run, err := a.run("aurora-finetune", w)
	if err != nil {
		t.Fatal(err)
	}
	c := a.worker(run, w).Spec.Containers[0]
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	if want := "/mnt/blob/aurora/runs/" + run.ID; env["RUN_OUTPUT"] != want || env["RUN_STORAGE"] != "/mnt/blob" || run.Output != "aurora/runs" {
		t.Errorf("RUN_OUTPUT is %s, want %s; output %s", env["RUN_OUTPUT"], want, run.Output)
	}
	mounted := func(m corev1.VolumeMount) bool { return m.MountPath == "/mnt/blob/aurora" && !m.ReadOnly }
	if !slices.ContainsFunc(c.VolumeMounts, mounted) {
		t.Errorf("mounts: %v", c.VolumeMounts)
	}
	if c.EnvFrom[0].ConfigMapRef.Name != aks.PlatformConfigMap {
		t.Errorf("envFrom: %v", c.EnvFrom)
	}
}
