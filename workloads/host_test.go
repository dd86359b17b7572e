package workloads

import (
	"strings"
	"testing"

	"ray-on-aks/infra/sku"
)

// hosted returns a stack on the platform of another, whose queues leave room for one head of online-serving.
func hosted(declared Declared) Args {
	a := stack(declared)
	a.Host = &Host{Stack: "o/p/host", Spare: map[string]sku.Resources{"cpu": Catalog()["online-serving"].Head.resources()}}
	return a
}

func TestServicesOnAnotherStacksPlatform(t *testing.T) {
	for name, tc := range map[string]struct {
		declared Declared
		change   func(*Args)
		// want is all that is said; empty where nothing is.
		want string
	}{
		"on a pool for services": {service(), func(*Args) {}, ""},
		"on a pool of the queues": {service(func(w *Workload) { w.Pool = "gpu" }), func(*Args) {},
			"workloads.online-serving.pool: pool gpu is shared with the queues of stack o/p/host, which count no service of another stack; " +
				"pools for services are serve (infra.pools.<name>.serving)"},
		"no room for its head": {service(), func(a *Args) { a.Host.Spare = nil },
			"workloads.online-serving.head: the heads of services are on pool cpu, outside the queues, and exceed what those of stack o/p/host leave of it: " +
				"cpu 2000m of 0m, memory 8192Mi of 0Mi; have queues.quota.cpu leave more, or enable the service there"},
		"room for one head of two": {service(), func(a *Args) {
			a.Declared["second"] = a.Declared["online-serving"]
			a.Pools[2].Nodes = 2
		}, "workloads.second.head: the heads of services are on pool cpu, outside the queues, and exceed what those of stack o/p/host leave of it: " +
			"cpu 4000m of 2000m, memory 16384Mi of 8192Mi; have queues.quota.cpu leave more, or enable the service there"},
		"beside the host's own": {service(), func(a *Args) {
			other := stack(service())
			a.Host.Holdings = other.Holdings()
			for i := range a.Host.Holdings {
				a.Host.Holdings[i].Workload = "theirs"
			}
		}, "workloads.online-serving.workers: 1 nodes of pool serve hold at most 0 such pods beside the worker of theirs " +
			"(1 of 11000m CPU, 112640Mi and 1 GPUs), got 1; ask for less, or raise infra.pools.serve.max"},
		"a name that the host has in the same namespace": {job(), func(a *Args) { a.Host.Runs = map[string]string{"smoke": "ray-a"} },
			"workloads.smoke: stack o/p/host has a workload of this name for team a as well; give it another name, or disable it there"},
		"a name that the host has in another": {job(), func(a *Args) { a.Host.Runs = map[string]string{"smoke": "ray-b"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := hosted(tc.declared)
			tc.change(&a)
			got := ""
			if err := a.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestHostsServicesTakeTheirRoom of jobs too, as this stack's own do.
func TestHostsServicesTakeTheirRoom(t *testing.T) {
	a := hosted(sized(1, "1", "4Gi", 8))
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	a.Host.Holdings = []Holding{{Workload: "theirs", Role: "worker", Count: 1, Each: sku.Resources{MilliCPU: 1000, MemoryMiB: 1024, GPUs: 1}, Pool: "gpu"}}
	if err := a.Validate(); err == nil || !strings.Contains(err.Error(), "beside the worker of theirs") {
		t.Errorf("got %v", err)
	}
}
