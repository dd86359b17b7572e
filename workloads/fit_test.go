package workloads

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"ray-on-aks/infra/sku"
)

// sized returns smoke with workers of a size.
func sized(workers int32, cpus, memory string, gpus int64) Declared {
	return job(func(w *Workload) { w.Workers, w.Worker = workers, WorkerSize{size(cpus, memory), gpus} })
}

func TestWhatCanNeverRunIsRefused(t *testing.T) {
	refused(t, map[string]Declared{
		"one pod exceeds a node of pool cpu: cpu 8000m of 7320m; its quota would do, so it would be admitted there and wait; ask for less": sized(2, "8", "4Gi", 0),
		// One core of 29.28 is the head's.
		"with 29 of it beside the head of smoke (1 of 1000m CPU, 4096Mi and 0 GPUs) the run exceeds what the queue can ever get of pool cpu: cpu 30000m of 29280m; ask for less, or raise infra.pools.cpu.max; with workers: 26 it fits": sized(29, "1", "512Mi", 0),
		"cannot hold 152 of it at once, though their sum could: one node holds 38, since it takes 50 pods and has 12 of its own; ask for less, or raise infra.pools.cpu.max; with workers: 150 it fits":                                  sized(152, "100m", "512Mi", 0),
		"the submitter can never run from queue ray-jobs":                         sized(27, "1", "512Mi", 0),
		"4 nodes of pool cpu cannot hold 5 of it at once, though their sum could": sized(5, "4", "4Gi", 0),
		"with 9 of it the run exceeds what the queue can ever get of pool gpu: gpu 9 of 8; ask for less, or raise infra.pools.gpu.max; with workers: 8 it fits": sized(9, "1", "4Gi", 1),
		"one pod exceeds a node of pool gpu: gpu 9 of 8":                                                                                         sized(1, "1", "4Gi", 9),
		"it asks for 1 GPUs, and no pool behind the queue has any: there is only cpu":                                                            job(func(w *Workload) { w.Team, w.Worker.GPUs = "b", 1 }),
		"workloads.smoke.pool: pool cpu has no GPUs, and worker.gpus is 1; set it to 0, or another pool: those with GPUs are gpu":                job(func(w *Workload) { w.Pool, w.Worker.GPUs = "cpu", 1 }),
		"workloads.online-serving.head: exceeds a node of pool cpu, on which the heads of services run: cpu 8000m of 7320m":                      service(func(w *Workload) { w.Head = size("8", "4Gi") }),
		"workloads.online-serving.worker: one pod exceeds a node of pool serve: gpu 2 of 1":                                                      service(func(w *Workload) { w.Worker.GPUs = 2 }),
		"workloads.online-serving.workers: 1 nodes of pool serve hold at most 1 such pods, got 2; ask for fewer, or raise infra.pools.serve.max": service(func(w *Workload) { w.Workers = 2 }),
	})
}

func TestServicesShareTheirPool(t *testing.T) {
	a := stack(service())
	a.Declared["second"] = a.Declared["online-serving"]
	if err := a.Validate(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "workloads.second.workers: 1 nodes of pool serve hold at most 0 such pods beside the worker of online-serving (1 of 11000m CPU, 112640Mi and 1 GPUs), got 1; ask for less, or raise infra.pools.serve.max") {
		t.Errorf("got %v", err)
	}
	a.Pools[2].Nodes = 2
	if err := a.Validate(); err != nil {
		t.Error(err)
	}
	a.Pools[0].Nodes = 0
	if err := a.Validate(); err == nil || !strings.Contains(err.Error(), "workloads.online-serving.head: 0 nodes of pool cpu hold at most 0 such pods, got 1") {
		t.Errorf("got %v", err)
	}
}

// TestQuotaOfASecondPoolIsNoRoom: Kueue looks at no node, so what it could admit to either pool must fit both, or name one.
func TestQuotaOfASecondPoolIsNoRoom(t *testing.T) {
	large := node("Standard_D16ds_v6")
	add := func(a *Args, first bool) {
		f := Flavor{Name: "big", Node: large, Limit: large.Times(2)}
		q := &a.Tenants[0].Queue
		if q.Flavors = append(q.Flavors, f); first {
			q.Flavors = append([]Flavor{f}, q.Flavors[:2]...)
		}
		a.Pools = append(a.Pools, Pool{Name: "big", Nodes: 2, Node: large})
	}
	for words, first := range map[string]bool{
		"one pod exceeds a node of pool cpu: cpu 10000m of 7320m; its quota would do, so it would be admitted there and wait; set pool: big": false,
		"when the pools before cpu are in use it would be admitted to that one and wait":                                                     true,
	} {
		a := stack(sized(2, "10", "4Gi", 0))
		add(&a, first)
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
		w := a.Declared["smoke"]
		w.Pool = "big"
		a.Declared["smoke"] = w
		if err := a.Validate(); err != nil {
			t.Errorf("with a pool: %v", err)
		}
	}
}

// TestWhatIsSuggestedFits: a number of workers that a message names is accepted, and one more is not.
func TestWhatIsSuggestedFits(t *testing.T) {
	for _, declared := range []Declared{sized(29, "1", "512Mi", 0), sized(5, "4", "4Gi", 0), sized(4, "7", "4Gi", 0), sized(9, "1", "4Gi", 1), sized(1000, "3", "9Gi", 0), sized(151, "100m", "512Mi", 0)} {
		err := stack(declared).Validate()
		_, hint, found := strings.Cut(fmt.Sprint(err), "with workers: ")
		if !found {
			t.Errorf("no number is suggested: %v", err)
			continue
		}
		var n int32
		if _, err := fmt.Sscan(hint, &n); err != nil {
			t.Fatal(err)
		}
		w := declared["smoke"]
		for workers, fits := range map[int32]bool{n: true, n + 1: false} {
			w.Workers = workers
			if err := stack(Declared{"smoke": w}).Validate(); (err == nil) != fits {
				t.Errorf("%d of %d workers: %v", workers, n, err)
			}
		}
	}
}

// TestEachLineHasItsPath also where several pools are in question, and several sets have no place.
func TestEachLineHasItsPath(t *testing.T) {
	a := stack(sized(40, "1", "4Gi", 0))
	big := node("Standard_D16ds_v6")
	a.Tenants[0].Queue.Flavors = append(a.Tenants[0].Queue.Flavors, Flavor{Name: "big", Node: big, Limit: big})
	a.Pools = append(a.Pools, Pool{Name: "big", Nodes: 1, Node: big})
	w := a.Declared["smoke"]
	w.Head = size("30", "4Gi")
	a.Declared["smoke"] = w
	err := a.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Fatalf("want one error for the head and one for the workers, got: %v", err)
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, "workloads.smoke: the ") || !strings.Contains(line, "pool cpu") || !strings.Contains(line, "pool big") {
			t.Errorf("line %q", line)
		}
	}
}

// TestMountsNeedPodsOfASize: the scheduler sees what pods request, and mounts lie beside them. A node keeps memory for those of pods that
// are large enough.
func TestMountsNeedPodsOfASize(t *testing.T) {
	mounting := func(head, worker Size, gpus int64, storage ...string) Declared {
		return job(func(w *Workload) { w.Head, w.Worker, w.Storage = head, WorkerSize{worker, gpus}, storage })
	}
	three := []string{"aurora", "llm-pipeline", "models"}
	refused(t, map[string]Declared{
		"workloads.smoke.storage: has 2 containers, and a node keeps 1 mounts for a head of 1000m CPU and 1 mounts for a worker of 1500m CPU; raise head.cpus to 2 and worker.cpus to 2, or mount fewer": mounting(size("1", "4Gi"), size("1500m", "4Gi"), 0, "aurora", "models"),
		"workloads.smoke.storage: has 1 containers, and a node keeps 0 mounts for a worker of 500m CPU; raise worker.cpus to 1, or mount fewer":                                                          mounting(size("1", "4Gi"), size("500m", "4Gi"), 0, "models"),
		"workloads.smoke.storage: has 3 containers, and a node keeps 2 mounts for a worker of 1 GPUs; raise worker.gpus to 2, or mount fewer":                                                            mounting(size("3", "4Gi"), size("11", "4Gi"), 1, three...),
		"workloads.smoke.storage: has 3 containers, and a node keeps 2 mounts for a head of 2000m CPU; raise head.cpus to 3, or mount fewer":                                                             mounting(size("2", "4Gi"), size("1", "4Gi"), 2, three...),
	})
	for _, declared := range []Declared{
		mounting(size("3", "4Gi"), size("3", "4Gi"), 0, three...), mounting(size("3", "4Gi"), size("1", "4Gi"), 2, three...), mounting(size("500m", "4Gi"), size("500m", "4Gi"), 0),
	} {
		if err := stack(declared).Validate(); err != nil {
			t.Error(err)
		}
	}
	// What cannot be counted, and what is refused for its number, is not reported a second time.
	for words, declared := range map[string]Declared{
		"workloads.smoke.worker.cpus: must be": mounting(size("3", "4Gi"), size("0", "4Gi"), 0, three...),
		"workloads.smoke.storage: must be at":  {"smoke": func() Workload { w := smoke(); w.Storage = append(three, "a", "b"); return w }()},
		"workloads.smoke.storage[1]: repeats":  mounting(size("1", "4Gi"), size("1", "4Gi"), 0, "models", "models"),
	} {
		if err := stack(declared).Validate(); err == nil || !strings.HasPrefix(err.Error(), words) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q alone, got: %v", words, err)
		}
	}
}

// TestLimitIsWhatCounts: a queue may have less, by quota, than its nodes could hold.
func TestLimitIsWhatCounts(t *testing.T) {
	a := stack(entry("llm-training"))
	f := &a.Tenants[0].Queue.Flavors[1]
	f.Limit.GPUs, f.LimitedBy = 3, map[string]string{"gpu": "queues.quota.gpu.gpus"}
	if err := a.Validate(); err == nil || !strings.Contains(err.Error(), "gpu 4 of 3; ask for less, or raise queues.quota.gpu.gpus; with workers: 3 it fits") {
		t.Errorf("got %v", err)
	}
}

// TestWhatIsRefusedHoldsNothing: a service without room takes it from no other, and off no quota.
func TestWhatIsRefusedHoldsNothing(t *testing.T) {
	for _, change := range []func(*Workload){
		func(w *Workload) { w.Workers = 2 }, func(w *Workload) { w.Worker.GPUs = 2 }, func(w *Workload) { w.Worker.GPUs = 0 }, func(w *Workload) { w.Pool = "no" },
	} {
		declared := service(change)
		declared["z"] = service()["online-serving"]
		a := stack(declared)
		if err := a.Validate(); err == nil || strings.Contains(err.Error(), "workloads.z") {
			t.Errorf("got %v", err)
		}
		if got, want := a.Reserved(), stack(service()).Reserved(); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestReserved(t *testing.T) {
	declared := service()
	declared["smoke"] = job()["smoke"]
	declared["off"] = Catalog()["online-serving"]
	broken := service(func(w *Workload) { w.Workers = -5 })["online-serving"]
	declared["broken"] = broken
	got := stack(declared).Reserved()
	want := map[string]sku.Resources{
		"cpu":   {MilliCPU: 2000, MemoryMiB: 8 << 10},
		"serve": {MilliCPU: 11000, MemoryMiB: 110 << 10, GPUs: 1},
	}
	if len(got) != len(want) || got["cpu"] != want["cpu"] || got["serve"] != want["serve"] {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWarnings(t *testing.T) {
	apart := func(a *Args) {
		small := node("Standard_NC24ads_A100_v4")
		a.Tenants[0].Queue.Flavors[1].Node, a.Tenants[0].Queue.Flavors[1].Limit = small, small.Times(8)
	}
	declares := func(a *Args) {
		apart(a)
		a.Sizes = append(a.Sizes, sku.SKU{Name: "Standard_Large", GPUs: 16})
	}
	none := func(*Args) {}
	for name, test := range map[string]struct {
		declared Declared
		change   func(*Args)
		want     string
	}{
		"jobs":               {job(), none, ""},
		"one node":           {entry("llm-training"), none, ""},
		"disabled":           {Catalog(), apart, ""},
		"one worker":         {entry("aurora-finetune"), apart, ""},
		"apart":              {entry("llm-training"), apart, "workloads.llm-training: its 4 workers have 4 GPUs together and no node of pool gpu has more than 1, so its workers will talk over TCP; a node of Standard_NC96ads_A100_v4 has 4"},
		"declared size":      {entry("llm-training", func(w *Workload) { w.Workers = 9 }), declares, "workloads.llm-training: its 9 workers have 9 GPUs together and no node of pool gpu has more than 1, so its workers will talk over TCP; a node of Standard_Large has 16"},
		"too many for a VM":  {entry("llm-training", func(w *Workload) { w.Workers = 9 }), apart, ""},
		"service":            {service(), none, "workloads.online-serving: keeps 1 GPUs of pool serve up as long as it is enabled; queues do not count them"},
		"on a queue's pool":  {service(func(w *Workload) { w.Pool = "gpu" }), none, "workloads.online-serving: keeps 1 GPUs of pool gpu up as long as it is enabled; queues do not count them, so they are taken off that pool's quota"},
		"service with cores": {service(func(w *Workload) { w.Pool, w.Worker.GPUs = "cpu", 0 }), none, "workloads.online-serving: keeps 1 workers of 11 cores of pool cpu up as long as it is enabled; queues do not count them, so they are taken off that pool's quota"},
	} {
		// Whether libraries are installed is TestInstallingIsWarnedOf's.
		for key, w := range test.declared {
			w.Image = "example/own:1"
			test.declared[key] = w
		}
		a := stack(test.declared)
		test.change(&a)
		if got := strings.Join(a.Warnings(), "\n"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
