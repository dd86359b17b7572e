package workloads

import (
	"strings"
	"testing"
	"time"

	"ray-on-aks/infra/sku"

	"k8s.io/apimachinery/pkg/api/resource"
)

// refused fails for each configuration that is not refused with its words.
func refused(t *testing.T, cases map[string]Declared) {
	t.Helper()
	for words, declared := range cases {
		if err := stack(declared).Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}

func TestFieldsAreBounded(t *testing.T) {
	worker := func(cpus, memory string) func(*Workload) {
		return func(w *Workload) { w.Worker = WorkerSize{Size: size(cpus, memory)} }
	}
	head := func(cpus, memory string) func(*Workload) { return func(w *Workload) { w.Head = size(cpus, memory) } }
	env := func(name string) func(*Workload) {
		return func(w *Workload) { w.Env = map[string]string{name: ""} }
	}
	refused(t, map[string]Declared{
		"workloads.smoke.kind: must be RayJob or RayService, got \"RayJb\"; did you mean RayJob?": job(func(w *Workload) { w.Kind = "RayJb" }),
		"workloads.smoke.workers: must be between 1 and 1000, got 0":                              job(func(w *Workload) { w.Workers = 0 }),
		"workloads.smoke.workers: must be between 1 and 1000, got 1001":                           job(func(w *Workload) { w.Workers = 1001 }),
		"workloads.smoke.retries: must be between 0 and 100, got -1":                              job(func(w *Workload) { w.Retries = -1 }),
		"workloads.smoke.retries: must be between 0 and 100, got 101":                             job(func(w *Workload) { w.Retries = 101 }),
		"workloads.smoke.generation: must not be negative":                                        job(func(w *Workload) { w.Generation = -1 }),
		"workloads.smoke.worker.gpus: must be between 0 and 64, got -1":                           job(func(w *Workload) { w.Worker.GPUs = -1 }),
		"workloads.smoke.worker.gpus: must be between 0 and 64, got 65; no VM has more":           job(func(w *Workload) { w.Worker.GPUs = 65 }),
		"workloads.smoke.worker.cpus: must be between 1m and 2048, got 0":                         job(worker("0", "1Gi")),
		"workloads.smoke.worker.cpus: must be between 1m and 2048, got 100u":                      job(worker("0.0001", "1Gi")),
		// Past int64 in thousandths, where MilliValue answers 0, and only as a product with the workers.
		"workloads.smoke.worker.cpus: must be between 1m and 2048, got 9223372036854775807; no VM has more":                                     job(worker("9223372036854775807", "1Gi")),
		"workloads.smoke.head.cpus: must be between 1m and 2048, got 9223372036854775":                                                          job(head("9223372036854775", "1Gi")),
		"workloads.smoke.head.memory: must be between 512Mi and 64Ti, got 4: Ray gives 30% to its object store":                                 job(head("1", "4")),
		"workloads.smoke.head.memory: must be between 512Mi and 64Ti, got 65Ti; no VM has more":                                                 job(head("1", "65Ti")),
		"workloads.smoke.worker.memory: must be between 512Mi and 64Ti, got 9223372036854775807":                                                job(worker("1", "9223372036854775807")),
		"workloads.smoke.activeDeadline: must be whole seconds between 1s and":                                                                  job(func(w *Workload) { w.ActiveDeadline.Duration = 0 }),
		"workloads.smoke.preRunningDeadline: must be whole seconds between 1s and":                                                              job(func(w *Workload) { w.PreRunningDeadline.Duration = 0 }),
		"workloads.smoke.activeDeadline: must be whole seconds between 1s and 2147483647s, for example 90m, got 1m30.5s":                        job(func(w *Workload) { w.ActiveDeadline.Duration = 90500 * time.Millisecond }),
		"workloads.smoke.preRunningDeadline: must be whole seconds":                                                                             job(func(w *Workload) { w.PreRunningDeadline.Duration++ }),
		"workloads.smoke.activeDeadline: must be longer than preRunningDeadline (45m0s), which would never come otherwise, got 30m0s; raise it": job(func(w *Workload) { w.ActiveDeadline.Duration = 30 * time.Minute }),
		"workloads.smoke.worker.memory: must be between 512Mi and 64Ti, got 511Mi: Ray gives":                                                   job(worker("1", "511Mi")),
		"workloads.smoke.storage: must be at most 4 containers, got 5: each is mounted by a process of 640Mi":                                   job(func(w *Workload) { w.Storage = []string{"a", "b", "c", "d", "e"} }),
		"workloads.smoke.env.A-B=: is no name for a variable":                                                                                   job(env("A-B=")),
		"workloads.smoke.env.RUN_ID: names that begin with RUN_":                                                                                job(env("RUN_ID")),
		"workloads.smoke.env.RAY_AUTH_MODE: belongs to KubeRay":                                                                                 job(env("RAY_AUTH_MODE")),
		"workloads.smoke.env.RAY_ADDRESS: belongs to KubeRay":                                                                                   job(env("RAY_ADDRESS")),
		"workloads.online-serving.env.SERVE_TOKEN: is set by the program":                                                                       service(env("SERVE_TOKEN")),
	})
}

// TestOnlyWhatIsTooMuchIsMoreThanAVMHas: what is too little is told something else.
func TestOnlyWhatIsTooMuchIsMoreThanAVMHas(t *testing.T) {
	for _, change := range []func(*Workload){
		func(w *Workload) { w.Worker.GPUs = -1 },
		func(w *Workload) { w.Worker.CPUs = resource.MustParse("0") },
		func(w *Workload) { w.Head.CPUs = resource.MustParse("-1") },
		func(w *Workload) { w.Head.Memory = resource.MustParse("4") },
	} {
		if err := stack(job(change)).Validate(); err == nil || strings.Contains(err.Error(), "no VM has more") {
			t.Errorf("got %v", err)
		}
	}
	// What infra takes for a size may be asked for.
	w := smoke()
	w.Worker = WorkerSize{Size: maxPod, GPUs: sku.Most.GPUs}
	w.Workers = sku.MaxNodes
	if err := w.validateSizes("w"); err != nil {
		t.Error(err)
	}
}

// scripted returns a job with a script of the program's.
func scripted(script string) Workload {
	w := Defaults()
	w.Script = script
	return w
}

func TestProgramsAreChecked(t *testing.T) {
	image := func(image string) Declared { return job(func(w *Workload) { w.Image = image }) }
	serves := func(entrypoint string) Declared {
		return service(func(w *Workload) { w.Script, w.Entrypoint = "", entrypoint })
	}
	refused(t, map[string]Declared{
		"workloads.smoke.script: serve_llm.py is for a RayService, and smoke is a RayJob in the catalog; declare a workload of another name with it":               job(func(w *Workload) { w.Script = "serve_llm.py" }),
		"workloads.mine.script: smoke.py has no app that a RayService could serve; run it as a RayJob":                                                             {"mine": func() Workload { w := service()["online-serving"]; w.Script = "smoke.py"; return w }()},
		"workloads.smoke: exactly one of script and entrypoint must be set: the catalog's smoke has script smoke.py; script: \"\" makes room for an entrypoint":    job(func(w *Workload) { w.Entrypoint = "true" }),
		"workloads.smoke: exactly one of script and entrypoint":                                                                                                    job(func(w *Workload) { w.Entrypoint = "true" }),
		"workloads.smoke.script: there is no program \"smok.py\"; did you mean smoke.py?":                                                                          job(func(w *Workload) { w.Script = "smok.py" }),
		"workloads.smoke.script: there is no program \"raylib/run.py\"; known are aurora_finetune.py":                                                              job(func(w *Workload) { w.Script = "raylib/run.py" }),
		`workloads.smoke.image: "my ray:1" is no image`:                                                                                                            image("my ray:1"),
		`workloads.smoke.image: " " is no image`:                                                                                                                   image(" "),
		`workloads.smoke.image: ":2.55.1" is no image`:                                                                                                             image(":2.55.1"),
		`workloads.smoke.image: "example.io/:2.55.1" is no image`:                                                                                                  image("example.io/:2.55.1"),
		`workloads.mine.entrypoint: has no command in it, got " \t"`:                                                                                               {"mine": running(" \t")},
		"workloads.smoek: exactly one of script and entrypoint must be set; did you mean smoke?":                                                                   {"smoek": Defaults()},
		`workloads.online-serving.entrypoint: of a RayService must be module:attribute`:                                                                            serves("python serve.py"),
		`package.module:app, got "serve"`:                                                                                                                          serves("serve"),
		"workloads.mine.kind: must be RayService, got RayJob: serve_llm.py serves until it is stopped, and would end only by the job's deadline":                   {"mine": scripted("serve_llm.py")},
		`workloads.mine.script: there is no program "serve_lm.py"; known are aurora_finetune.py`:                                                                   {"mine": scripted("serve_lm.py")},
		"workloads.online-serving.kind: must be RayService, as online-serving is in the catalog, got RayJob; declare a workload of another name":                   service(func(w *Workload) { w.Kind = KindRayJob }),
		"workloads.smoke.kind: must be RayJob, as smoke is in the catalog, got RayService":                                                                         job(func(w *Workload) { w.Kind = KindRayService }),
		"workloads.online-serving.script: smoke.py is for a RayJob, and online-serving is a RayService in the catalog; declare a workload of another name with it": service(func(w *Workload) { w.Script = "smoke.py" }),
	})
}

func TestRoutes(t *testing.T) {
	route := func(prefix string) Declared { return service(func(w *Workload) { w.RoutePrefix = prefix }) }
	refused(t, map[string]Declared{
		`workloads.online-serving.routePrefix: must begin with / and not end with one, without segments . and .., for example /aurora, got "aurora"; did you mean /aurora?`: route("aurora"),
		`got "/aurora/"; did you mean /aurora?`: route("/aurora/"),
		`got "/{name}"`:                         route("/{name}"),
		`got "/a/../b"; did you mean /b?`:       route("/a/../b"),
		`got "/a/./b"; did you mean /a/b?`:      route("/a/./b"),
		`got "/.."; did you mean /?`:            route("/.."),
		`got "/-/healthz"`:                      route("/-/healthz"),
	})
	for _, prefix := range []string{"", "/", "/a", "/a/b-c_d.e"} {
		if err := stack(route(prefix)).Validate(); err != nil {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

// TestOtherPartsAreNamedRight covers what a workload names that another part declares.
func TestOtherPartsAreNamedRight(t *testing.T) {
	pool := func(pool string) func(*Workload) { return func(w *Workload) { w.Pool = pool } }
	output := func(output string) Declared {
		return entry("aurora-finetune", func(w *Workload) { w.Output = output })
	}
	refused(t, map[string]Declared{
		`workloads.smoke.team: there is no team "zebra"; known are a, b`:                                                                                   job(func(w *Workload) { w.Team = "zebra" }),
		`workloads.smoke.priority: there is no priority "norml"; did you mean normal?`:                                                                     job(func(w *Workload) { w.Priority = "norml" }),
		`workloads.smoke.storage[0]: there is no container "model"; did you mean models?`:                                                                  job(func(w *Workload) { w.Storage = []string{"model"} }),
		`workloads.smoke.storage[0]: there is no container "weather"; add it to infra.storage.containers, or take one of aurora, llm-pipeline, models`:     job(func(w *Workload) { w.Storage = []string{"weather"} }),
		`workloads.smoke.storage[3]: there is no container "weather"; add it to infra.storage.containers`:                                                  job(func(w *Workload) { w.Storage = []string{"aurora", "llm-pipeline", "models", "weather"} }),
		`workloads.smoke.storage[3]: there is no container "--"; leave it out`:                                                                             job(func(w *Workload) { w.Storage = []string{"aurora", "llm-pipeline", "models", "--"} }),
		`workloads.smoke.storage[1]: repeats models; leave it out`:                                                                                         job(func(w *Workload) { w.Storage = []string{"models", "models"} }),
		"workloads.aurora-finetune.output: \"results/x\" lies in container results, which is not mounted; storage is aurora, models: write to one of them": output("results/x"),
		"workloads.aurora-finetune.output: the prefix after aurora/ must be at most 768 characters, got 769":                                               output("aurora/" + strings.Repeat("a/", 384) + "a"),
		"workloads.aurora-finetune.output: each part between slashes must be at most 255 characters":                                                       output("aurora/" + strings.Repeat("a", 256)),
		`workloads.aurora-finetune.output: must be <container>/<prefix>`:                                                                                   output("aurora"),
		`for example aurora/checkpoints, got "aurora/../models"`:                                                                                           output("aurora/../models"),
		`for example aurora/checkpoints, got "/aurora/x/"`:                                                                                                 output("/aurora/x/"),
		"llm-pipeline, which is not mounted; storage is aurora, models: add llm-pipeline to it, or write to one of them":                                   output("llm-pipeline/x"),
		`workloads.smoke.pool: there is no pool "cpus"; did you mean cpu?`:                                                                                 job(pool("cpus")),
		"workloads.aurora-finetune.pool: pool serve is kept out of the queues (infra.pools.serve.serving), so no job can run there; pools for it are gpu":  entry("aurora-finetune", pool("serve")),
		"workloads.aurora-finetune.pool: queue ray-jobs has no share of pool gpu; pools for it are none":                                                   entry("aurora-finetune", pool("gpu"), func(w *Workload) { w.Team = "b" }),
		"workloads.smoke.pool: pool gpu is for pods with GPUs, and worker.gpus is 0; set it, or another pool: those without GPUs are cpu":                  job(pool("gpu")),
		"workloads.online-serving.pool: must be set, since no queue chooses one for a service; pools for services are serve":                               service(pool("")),
		`workloads.online-serving.pool: there is no pool "server"; did you mean serve?`:                                                                    service(pool("server")),
		"workloads.online-serving.pool: pool serve is for pods with GPUs, and worker.gpus is 0":                                                            service(func(w *Workload) { w.Script, w.Entrypoint, w.Worker.GPUs = "", "mine:app", 0 }),
	})
}

// TestFieldsOfTheOtherKindAreRefused: they would have no effect.
func TestFieldsOfTheOtherKindAreRefused(t *testing.T) {
	fields := leaves(t)
	for key, kind := range onlyFor {
		declared, name := service(), "online-serving"
		if kind == KindRayService {
			declared, name = job(), "smoke"
		}
		w := declared[name]
		fields[key](&w)
		declared[name] = w
		want := "workloads." + name + "." + key + ": has no effect on a " + string(w.Kind) + ", only on a " + string(kind)
		if err := stack(declared).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got: %v", want, err)
		}
	}
}

func TestNamesAreBounded(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	refused(t, map[string]Declared{
		`workloads.Smoke: "Smoke" is no name for a workload`:                                     {"Smoke": smoke()},
		"at most 38 leave room for the run's hash in the 47 that KubeRay allows; \"aaaa":         {long(maxBaseName + 1): smoke()},
		"at most 47 leave room for what KubeRay appends for its cluster and pods; \"aaaaaaaaaaa": {long(maxName + 1): service()["online-serving"]},
	})
}

func TestAllErrorsAtOnce(t *testing.T) {
	declared := job(func(w *Workload) { w.Workers, w.Team, w.Env = 0, "c", map[string]string{"RUN_ID": ""} })
	declared["online-serving"] = service(func(w *Workload) { w.Pool = "nowhere" })["online-serving"]
	err := stack(declared).Validate()
	for _, words := range []string{"smoke.workers", "smoke.team", "smoke.env.RUN_ID", "online-serving.pool"} {
		if err == nil || !strings.Contains(err.Error(), "workloads."+words) {
			t.Errorf("want %s, got: %v", words, err)
		}
	}
}

func TestUsualImagesAndEntrypoints(t *testing.T) {
	for _, image := range []string{"ray", "example/ray:2.55.1", "localhost:5000/ray", "me.azurecr.io/a/b:t@sha256:" + strings.Repeat("0", 64)} {
		if err := stack(job(func(w *Workload) { w.Image = image })).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, command := range []string{`python -c "print('it works')"`, "A=$(date) python a.py --day '$(date)'\n", `python 'a b.py' --x=\"`} {
		if err := stack(Declared{"mine": running(command)}).Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestKubeRayIsTheLastGuard(t *testing.T) {
	for words, declared := range map[string]Declared{
		"workloads.smoke: KubeRay refuses the job (suspend true)":    job(),
		"workloads.online-serving: KubeRay refuses the service: The": service(),
	} {
		a := stack(declared)
		// The token mode needs Ray 2.52; our own checks know nothing of that.
		a.Versions.Ray = "2.40.0"
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
	}
}

// TestDisabledWorkloadsDependOnNoStack: the catalog has entries that a small stack cannot run.
func TestDisabledWorkloadsDependOnNoStack(t *testing.T) {
	a := Args{Declared: Catalog(), Platform: Platform{Versions: Versions{Ray: "2.55.1", Image: "example/ray:2.55.1"}}}
	w := smoke()
	w.Workers = 1000
	a.Declared["smoke"] = w
	if err := a.Validate(); err != nil {
		t.Error(err)
	}
}
