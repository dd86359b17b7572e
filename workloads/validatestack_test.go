package workloads

import "testing"

// TestNamesThatAreRefusedElsewhere are not suggested, and what was meant for one is not reported again.
func TestNamesThatAreRefusedElsewhere(t *testing.T) {
	change := func(a *Args) {
		a.Refused = []string{"Language", "Models", "A100", "Urgent"}
		a.Tenants = append(a.Tenants, Tenant{Name: "Language", Namespace: "ray-l", Queue: a.Tenants[0].Queue})
		a.Containers = append(a.Containers, "Models")
		a.Priorities = append(a.Priorities, "Urgent")
		a.Pools = append(a.Pools, Pool{Name: "A100", Nodes: 1, Node: a.Pools[2].Node, Serving: true, Tainted: true})
	}
	for _, tc := range []struct {
		want     string
		declared Declared
	}{
		{"", job(func(w *Workload) {
			w.Team, w.Priority, w.Storage, w.Pool = "language", "urgent", []string{"mo-dels"}, "a100"
		})},
		{"", service(func(w *Workload) { w.Pool = "a100" })},
		{`workloads.smoke.team: there is no team "langage"; known are a, b`, job(func(w *Workload) { w.Team = "langage" })},
		{`workloads.smoke.priority: there is no priority "urgen"; known are high, low, normal`, job(func(w *Workload) { w.Priority = "urgen" })},
		{`workloads.online-serving.pool: there is no pool "a10"; known are gpu, serve`, service(func(w *Workload) { w.Pool = "a10" })},
		{`workloads.smoke.storage[0]: there is no container "modells"; did you mean models?`, job(func(w *Workload) { w.Storage = []string{"modells"} })},
	} {
		a := stack(tc.declared)
		change(&a)
		got := ""
		if err := a.Validate(); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("want %q alone, got: %s", tc.want, got)
		}
	}
}
