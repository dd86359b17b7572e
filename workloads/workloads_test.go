package workloads

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// stack returns the arguments of a stack of two 8-core nodes that runs the given workloads.
func stack(jobs Jobs) Args {
	node := sku.Resources{MilliCPU: 7320, MemoryMiB: 29610}
	return Args{
		Jobs: jobs, Namespace: "ray", ServiceAccount: "ray-workload",
		Queues:   []Queue{{Name: "ray-jobs", Flavors: []Flavor{{Name: "cpu", Node: node, Quota: node.Times(2)}}}},
		Versions: Versions{Ray: "2.55.1", Image: "example/ray:2.55.1"},
	}
}

// enabled returns smoke, enabled and changed.
func enabled(change func(*Workload)) Jobs {
	w := smoke()
	w.Enabled = true
	change(&w)
	return Jobs{"smoke": w}
}

func unchanged(*Workload) {}

// running returns a workload with an entrypoint of its own.
func running(entrypoint string) Workload {
	w := defaults()
	w.Entrypoint = entrypoint
	return w
}

func TestGoldenRayJob(t *testing.T) {
	a := stack(enabled(func(w *Workload) { w.Env = map[string]string{"SMOKE_TIMEOUT_SECONDS": "300", "SMOKE_TASKS": "32"} }))
	run := Run{Workload: "smoke", Name: "smoke-0123abcd", ID: "smoke-4567cdef", ScriptsName: "smoke-scripts-89abef01"}
	object := a.rayJob(run, a.resolved(a.Jobs["smoke"]))
	spec, err := crd.Fields(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := spec["suspend"]; ok {
		t.Error("suspend is authored; it is Kueue's")
	}
	stacktest.Golden(t, "rayjob", map[string]any{"metadata": object.Meta, "spec": spec})
}

func TestCatalogFits(t *testing.T) {
	jobs := Catalog()
	for name, w := range jobs {
		w.Enabled = true
		jobs[name] = w
	}
	if err := stack(jobs).Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("a", maxBaseName+1)
	for words, jobs := range map[string]Jobs{
		"workloads.jobs.smoke.kind: must be RayJob":                                enabled(func(w *Workload) { w.Kind = "RayService" }),
		"workloads.jobs.smoke: exactly one of script and entrypoint":               enabled(func(w *Workload) { w.Entrypoint = "true" }),
		"workloads.jobs.smoke.script: there is no program \"x.py\", only smoke.py": enabled(func(w *Workload) { w.Script = "x.py" }),
		"workloads.jobs.smoke.workers: must be between 1 and 1000, got 0":          enabled(func(w *Workload) { w.Workers = 0 }),
		"workloads.jobs.smoke.workers: must be between 1 and 1000, got 1001":       enabled(func(w *Workload) { w.Workers = 1001 }),
		"workloads.jobs.smoke.retries: must be between 0 and 100, got -1":          enabled(func(w *Workload) { w.Retries = -1 }),
		"workloads.jobs.smoke.retries: must be between 0 and 100, got 101":         enabled(func(w *Workload) { w.Retries = 101 }),
		"workloads.jobs.smoke.generation: must not be negative":                    enabled(func(w *Workload) { w.Generation = -1 }),
		"workloads.jobs.smoke.worker.cpus: must be between 1m and 1024, got 0":     enabled(func(w *Workload) { w.Worker = size("0", "1Gi") }),
		"workloads.jobs.smoke.worker.cpus: must be between 1m and 1024, got 100u":  enabled(func(w *Workload) { w.Worker = size("0.0001", "1Gi") }),
		// Past int64 in thousandths, where MilliValue answers 0, and only as a product with the workers.
		"workloads.jobs.smoke.worker.cpus: must be between 1m and 1024, got 9223372036854775807":      enabled(func(w *Workload) { w.Worker = size("9223372036854775807", "1Gi") }),
		"workloads.jobs.smoke.head.cpus: must be between 1m and 1024, got 9223372036854775":           enabled(func(w *Workload) { w.Head = size("9223372036854775", "1Gi") }),
		"workloads.jobs.smoke.head.memory: must be between 1Mi and 64Ti, got 4":                       enabled(func(w *Workload) { w.Head = size("1", "4") }),
		"workloads.jobs.smoke.head.memory: must be between 1Mi and 64Ti, got 65Ti":                    enabled(func(w *Workload) { w.Head = size("1", "65Ti") }),
		"workloads.jobs.smoke.worker.memory: must be between 1Mi and 64Ti, got 9223372036854775807":   enabled(func(w *Workload) { w.Worker = size("1", "9223372036854775807") }),
		`workloads.jobs.smoke.image: "my ray:1" is no image`:                                          enabled(func(w *Workload) { w.Image = "my ray:1" }),
		`workloads.jobs.smoke.image: " " is no image`:                                                 enabled(func(w *Workload) { w.Image = " " }),
		`workloads.jobs.smoke.image: ":2.55.1" is no image`:                                           enabled(func(w *Workload) { w.Image = ":2.55.1" }),
		`workloads.jobs.smoke.image: "example.io/:2.55.1" is no image`:                                enabled(func(w *Workload) { w.Image = "example.io/:2.55.1" }),
		`workloads.jobs.mine.entrypoint: has no command in it, got " \t"`:                             {"mine": running(" \t")},
		`workloads.jobs.mine.entrypoint: "python -c 'print(1)" is no command line`:                    {"mine": running("python -c 'print(1)")},
		"workloads.jobs.smoek: exactly one of script and entrypoint must be set; did you mean smoke?": {"smoek": defaults()},
		"workloads.jobs.smoke.activeDeadline: must be at least 1s":                                    enabled(func(w *Workload) { w.ActiveDeadline.Duration = 0 }),
		"workloads.jobs.smoke.env.A-B=: is no name for a variable":                                    enabled(func(w *Workload) { w.Env = map[string]string{"A-B=": ""} }),
		"workloads.jobs.smoke.env.RUN_ID: names that begin with RUN_":                                 enabled(func(w *Workload) { w.Env = map[string]string{"RUN_ID": ""} }),
		"workloads.jobs.smoke.queue: there is no queue \"gpu\", only ray-jobs":                        enabled(func(w *Workload) { w.Queue = "gpu" }),
		"one pod exceeds a node of pool cpu: cpu 8000m of 7320m":                                      enabled(func(w *Workload) { w.Worker = size("8", "4Gi") }),
		"with 15 of it the run exceeds the quota of pool cpu: cpu 16000m of 14640m":                   enabled(func(w *Workload) { w.Workers = 15 }),
		"the submitter can never be admitted by queue ray-jobs":                                       enabled(func(w *Workload) { w.Worker = size("6.7", "4Gi") }),
		`workloads.jobs.Smoke: "Smoke" is no name for a workload`:                                     {"Smoke": smoke()},
		"at most 38 leave room for the run's hash in the 47 that KubeRay allows":                      {long: smoke()},
	} {
		if err := stack(jobs).Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}

func TestUsualImagesAndEntrypoints(t *testing.T) {
	for _, image := range []string{"ray", "example/ray:2.55.1", "localhost:5000/ray", "me.azurecr.io/a/b:t@sha256:" + strings.Repeat("0", 64)} {
		if err := stack(enabled(func(w *Workload) { w.Image = image })).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, command := range []string{`python -c "print('it works')"`, "A=$(date) python a.py && echo done\n", `python 'a b.py' --x=\"`} {
		if err := stack(Jobs{"mine": running(command)}).Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestKubeRayIsTheLastGuard(t *testing.T) {
	a := stack(enabled(unchanged))
	// The token mode needs Ray 2.52; our own checks know nothing of that.
	a.Versions.Ray = "2.40.0"
	err := a.Validate()
	if err == nil || !strings.Contains(err.Error(), "workloads.jobs.smoke: KubeRay refuses the job (suspend true)") {
		t.Errorf("got %v", err)
	}
}

func TestDisabledWorkloadsNeedNotFit(t *testing.T) {
	w := smoke()
	w.Workers = 1000
	if err := stack(Jobs{"smoke": w}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestANewRunIsACreate(t *testing.T) {
	first := register(t, enabled(unchanged))
	second := register(t, enabled(func(w *Workload) { w.Generation = 1 }))
	a, b := first.One(t, ":RayJob"), second.One(t, ":RayJob")
	if a.Name == b.Name || objectName(a) == objectName(b) {
		t.Errorf("a new generation keeps the name %s", a.Name)
	}
	if !strings.HasSuffix(a.Name, objectName(a)) {
		t.Errorf("logical name %s, object %s", a.Name, objectName(a))
	}
	if first.One(t, ":ConfigMap").Name != second.One(t, ":ConfigMap").Name {
		t.Error("the same scripts got another name")
	}
}

func TestAStackAddsToTheCatalog(t *testing.T) {
	catalog := Jobs{"job": {Workers: 2, Env: map[string]string{"A": "1", "B": "2"}}}
	jobs := catalog
	if err := json.Unmarshal([]byte(`{"job": {"env": {"B": "3"}}}`), &jobs); err != nil {
		t.Fatal(err)
	}
	if w := jobs["job"]; w.Workers != 2 || w.Env["A"] != "1" || w.Env["B"] != "3" {
		t.Errorf("the entry lost its defaults: %+v", w)
	}
	if catalog["job"].Env["B"] != "2" {
		t.Error("one stack's values reached the catalog")
	}
}

func TestKeepRetains(t *testing.T) {
	r := register(t, enabled(func(w *Workload) { w.Keep = true }))
	if !r.One(t, ":RayJob").RetainOnDelete || !r.One(t, ":ConfigMap").RetainOnDelete {
		t.Error("a kept run would be deleted")
	}
	if register(t, enabled(unchanged)).One(t, ":RayJob").RetainOnDelete {
		t.Error("every run is kept")
	}
}

func TestDisabledRunsNothing(t *testing.T) {
	if r := register(t, Catalog()); len(r.OfType(":RayJob")) != 0 {
		t.Error("a disabled workload runs")
	}
}

func TestLongestNameFits(t *testing.T) {
	w := smoke()
	w.Enabled = true
	w.PreRunningDeadline.Duration = time.Hour
	name := strings.Repeat("a", maxBaseName)
	if err := stack(Jobs{name: w}).Validate(); err != nil {
		t.Fatal(err)
	}
	if got := objectName(register(t, Jobs{name: w}).One(t, ":RayJob")); len(got) != maxName {
		t.Errorf("%s has %d characters", got, len(got))
	}
}

func register(t *testing.T, jobs Jobs) stacktest.Recording {
	t.Helper()
	return stacktest.Run(t, func(ctx *pulumi.Context) error {
		_, err := New(ctx, "workloads", stack(jobs))
		return err
	}, stacktest.Options{Stack: "test"})
}

func objectName(r stacktest.Resource) string {
	return r.Inputs["metadata"].ObjectValue()["name"].StringValue()
}
