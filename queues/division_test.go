package queues

import (
	"math"
	"slices"
	"testing"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func TestApportion(t *testing.T) {
	for name, c := range map[string]struct {
		n       int64
		weights []int64
		whole   int64
		want    []int64
	}{
		"even":                       {8, []int64{1, 1}, 0, []int64{4, 4}},
		"by share":                   {8, []int64{1, 3}, 0, []int64{2, 6}},
		"largest remainder":          {8, []int64{1, 1, 1}, 0, []int64{3, 3, 2}},
		"more teams than units":      {2, []int64{1, 1, 1, 1}, 0, []int64{1, 1, 0, 0}},
		"largest, not first":         {10, []int64{1, 1, 5}, 0, []int64{2, 1, 7}},
		"nothing":                    {0, []int64{1, 1}, 0, []int64{0, 0}},
		"nobody":                     {8, nil, 0, []int64{}},
		"no weight":                  {8, []int64{0, 0}, 0, []int64{0, 0}},
		"part of a whole":            {100, []int64{2, 4}, 8, []int64{25, 50}},
		"beyond 64 bits":             {math.MaxInt64, []int64{1_000_000, 1_000_000}, 0, []int64{math.MaxInt64/2 + 1, math.MaxInt64 / 2}},
		"weights no one should have": {7, []int64{math.MaxInt64, math.MaxInt64, -5}, math.MaxInt64, []int64{4, 3, 0}},
	} {
		if got := apportion(c.n, c.weights, c.whole); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestNothingIsLost divides many totals and checks that the parts add up, and that each is less than a unit off.
func TestNothingIsLost(t *testing.T) {
	weights := []int64{1, 7, 3, 1, 13}
	for n := int64(0); n < 500; n++ {
		sum := int64(0)
		for i, part := range apportion(n, weights, 0) {
			sum += part
			if off := part*25 - n*weights[i]; off <= -25 || off >= 25 {
				t.Fatalf("%d of %d for weight %d", part, n, weights[i])
			}
		}
		if sum != n {
			t.Fatalf("%d of %d", sum, n)
		}
	}
}

func res(milliCPU, memoryMiB, gpus int64) sku.Resources {
	return sku.Resources{MilliCPU: milliCPU, MemoryMiB: memoryMiB, GPUs: gpus}
}

// divisionCase divides gpuPool among teams.
type divisionCase struct {
	teams  string
	quota  map[string]Quota
	change func(*Pool)
	want   []sku.Resources
}

var divisionCases = map[string]divisionCase{
	"half of everything is half of the GPUs": {
		teams: `{"a": {}, "b": {}}`,
		want:  []sku.Resources{res(47220, 942413, 4), res(47220, 942413, 4)},
	},
	"CPU and memory follow whole GPUs, not shares": {
		teams: `{"a": {}, "b": {}, "c": {}}`,
		want:  []sku.Resources{res(35415, 706810, 3), res(35415, 706810, 3), res(23610, 471206, 2)},
	},
	"explicit GPUs bring their CPU and memory": {
		teams: `{"a": {"quota": {"a100": {"gpus": 5}}}, "b": {}, "c": {"share": 2}}`,
		want:  []sku.Resources{res(59025, 1178016, 5), res(11805, 235603, 1), res(23610, 471207, 2)},
	},
	"explicit CPU is taken from the total": {
		teams: `{"a": {"quota": {"a100": {"cpu": "40"}}}, "b": {}}`,
		want:  []sku.Resources{res(40000, 942413, 4), res(54440, 942413, 4)},
	},
	"GPUs that nobody is given keep their CPU": {
		teams: `{"a": {"quota": {"a100": {"gpus": 2}}}, "b": {"quota": {"a100": {"gpus": 4}}}}`,
		want:  []sku.Resources{res(23610, 471207, 2), res(47220, 942413, 4)},
	},
	"a smaller total": {
		teams: `{"a": {}, "b": {}}`,
		quota: map[string]Quota{"a100": {GPUs: ptr.To[int64](4)}},
		want:  []sku.Resources{res(47220, 942413, 2), res(47220, 942413, 2)},
	},
	"no GPUs for the queues": {
		teams: `{"a": {}, "b": {"share": 3}}`,
		quota: map[string]Quota{"a100": {GPUs: ptr.To[int64](0), CPU: ptr.To(resource.MustParse("8"))}},
		want:  []sku.Resources{res(2000, 471207, 0), res(6000, 1413619, 0)},
	},
	"services come off first": {
		teams:  `{"a": {}, "b": {}}`,
		change: func(p *Pool) { p.Reserved = sku.Resources{MilliCPU: 14440, MemoryMiB: 84826, GPUs: 2} },
		want:   []sku.Resources{res(40000, 900000, 3), res(40000, 900000, 3)},
	},
	"services hold more than there is": {
		teams:  `{"a": {}}`,
		change: func(p *Pool) { p.Reserved = sku.Resources{MilliCPU: 99999, MemoryMiB: 9_999_999, GPUs: 9} },
		want:   []sku.Resources{{}},
	},
	"one team has all": {teams: `{"a": {}}`, want: []sku.Resources{gpuPool.Node}},
}

func TestNominal(t *testing.T) {
	for name, c := range divisionCases {
		pool := gpuPool
		if c.change != nil {
			c.change(&pool)
		}
		a := withTeams(t, args(pool), c.teams)
		a.Shape, a.Quota = ShapeTeams, c.quota
		var got []sku.Resources
		for _, tenant := range a.Tenants() {
			got = append(got, a.Nominal(tenant, pool))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
}

// TestSpareIsWhatNobodyIsGiven: with what the tenants are, it adds up to the pool.
func TestSpareIsWhatNobodyIsGiven(t *testing.T) {
	for name, c := range divisionCases {
		pool := gpuPool
		if c.change != nil {
			c.change(&pool)
		}
		a := withTeams(t, args(pool), c.teams)
		a.Shape, a.Quota = ShapeTeams, c.quota
		all := a.Spare(pool)
		for _, nominal := range c.want {
			all = all.Plus(nominal)
		}
		if all != pool.available() {
			t.Errorf("%s: the parts are %+v together, of %+v", name, all, pool.available())
		}
	}
	single := args(gpuPool)
	single.Quota = map[string]Quota{"a100": {GPUs: ptr.To[int64](5)}}
	if got, want := single.Spare(gpuPool), res(0, 0, 3); got != want {
		t.Errorf("single: %+v, want %+v", got, want)
	}
}

// TestGuaranteeIsUsable shows that a guarantee of four GPUs has the CPU and memory of a job of four.
func TestGuaranteeIsUsable(t *testing.T) {
	a := withTeams(t, args(gpuPool, cpuPool), `{"a": {}, "b": {}}`)
	a.Shape = ShapeTeams
	job := sku.Resources{MilliCPU: 11000, MemoryMiB: 110 << 10, GPUs: 1}.Times(4)
	for _, tenant := range a.Tenants() {
		if over := job.Exceeds(a.Nominal(tenant, gpuPool)); len(over) > 0 {
			t.Errorf("%s: %v", tenant.Name, over)
		}
	}
}

func TestEver(t *testing.T) {
	for name, c := range map[string]struct {
		teams string
		want  []int64
	}{
		"all of it":                      {`{"a": {}, "b": {}}`, []int64{8, 8}},
		"borrows up to its limit":        {`{"a": {"borrowingLimit": {"a100": {"gpus": 1}}}, "b": {}}`, []int64{5, 8}},
		"borrows nothing":                {`{"a": {"borrowingLimit": {"a100": {"gpus": 0}}}, "b": {}}`, []int64{4, 8}},
		"what the other lends":           {`{"a": {}, "b": {"lendingLimit": {"a100": {"gpus": 3}}}}`, []int64{7, 8}},
		"the smaller of both":            {`{"a": {"borrowingLimit": {"a100": {"gpus": 2}}}, "b": {"lendingLimit": {"a100": {"gpus": 3}}}}`, []int64{6, 8}},
		"lends no more than it has":      {`{"a": {"share": 3}, "b": {"lendingLimit": {"a100": {"gpus": 8}}}}`, []int64{8, 8}},
		"three":                          {`{"a": {}, "b": {"lendingLimit": {"a100": {"gpus": 0}}}, "c": {"lendingLimit": {"a100": {"gpus": 1}}}}`, []int64{4, 7, 5}},
		"a limit on CPU leaves the GPUs": {`{"a": {"borrowingLimit": {"a100": {"cpu": 0}}}, "b": {}}`, []int64{8, 8}},
		"GPUs that nobody is given":      {`{"a": {"quota": {"a100": {"gpus": 2}}}, "b": {"quota": {"a100": {"gpus": 1}}}}`, []int64{3, 3}},
	} {
		a := withTeams(t, args(gpuPool), c.teams)
		a.Shape = ShapeTeams
		var got []int64
		for _, tenant := range a.Tenants() {
			got = append(got, a.Ever(tenant, gpuPool).GPUs)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	single := withTeams(t, args(gpuPool), `{"a": {"quota": {"a100": {"gpus": 1}}}, "b": {}}`)
	if got := single.Ever(single.Tenants()[0], gpuPool); got != gpuPool.available() {
		t.Errorf("single: %+v", got)
	}
}

// TestLimits names what would have to be raised for the first team to get more.
func TestLimits(t *testing.T) {
	for config, want := range map[string]string{
		`{"shape": "single"}`:                                                                                         "",
		`{"quota": {"a100": {"gpus": 3}}}`:                                                                            "queues.quota.a100.gpus",
		`{"quota": {"a100": {"gpus": 8}}}`:                                                                            "",
		`{"teams": {"a": {"borrowingLimit": {"a100": {"gpus": 1}}}}}`:                                                 "",
		`{"shape": "teams", "teams": {"a": {}, "b": {}}}`:                                                             "",
		`{"shape": "teams", "teams": {"a": {"borrowingLimit": {"a100": {"gpus": 1}}}, "b": {}}}`:                      "queues.teams.a.borrowingLimit.a100.gpus",
		`{"shape": "teams", "teams": {"a": {"borrowingLimit": {"a100": {"gpus": 4}}}, "b": {}}}`:                      "",
		`{"shape": "teams", "teams": {"a": {}, "b": {"lendingLimit": {"a100": {"gpus": 3}}}}}`:                        "queues.teams.b.lendingLimit.a100.gpus",
		`{"shape": "teams", "teams": {"a": {"quota": {"a100": {"gpus": 2}}}, "b": {"quota": {"a100": {"gpus": 1}}}}}`: "queues.teams.a.quota.a100.gpus",
		`{"shape": "teams", "quota": {"a100": {"gpus": 6}}, "teams": {"a": {}, "b": {}}}`:                             "queues.quota.a100.gpus",
	} {
		a := args(gpuPool)
		if err := strict.Decode("queues", []byte(config), &a); err != nil {
			t.Fatal(err)
		}
		if got := a.Limits(a.Tenants()[0], gpuPool)["gpu"]; got != want {
			t.Errorf("%s: got %q, want %q", config, got, want)
		}
	}
}

// TestRefusedValuesDoNoHarm divides what Validate would refuse: main fills in the workloads' limits before it asks.
func TestRefusedValuesDoNoHarm(t *testing.T) {
	absurd := Quota{CPU: ptr.To(resource.MustParse("1e30")), Memory: ptr.To(resource.MustParse("-5")), GPUs: ptr.To[int64](math.MaxInt64)}
	a := args(gpuPool, Pool{Name: "huge", Nodes: math.MaxInt, Node: sku.Resources{MilliCPU: math.MaxInt64, MemoryMiB: math.MaxInt64, GPUs: 1}})
	a.Shape = ShapeTeams
	a.Quota = map[string]Quota{"huge": absurd}
	a.Teams = Teams{}
	for _, name := range []string{"a", "b", "c"} {
		a.Teams[name] = Team{Share: math.MaxInt, Quota: map[string]Quota{"a100": absurd}, BorrowingLimit: map[string]Quota{"huge": absurd}}
	}
	for _, p := range a.Pools {
		for _, tenant := range a.Tenants() {
			n, e := a.Nominal(tenant, p), a.Ever(tenant, p)
			for _, d := range dimensions {
				if *d.of(&n) < 0 || *d.of(&e) < *d.of(&n) {
					t.Errorf("%s of %s: nominal %+v, ever %+v", p.Name, tenant.Name, n, e)
				}
			}
		}
	}
}
