package queues

import (
	"strings"
	"testing"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"
)

func TestValidate(t *testing.T) {
	for words, config := range map[string]string{
		`queues.shape: must be single or teams, got "team"`:                                     `{"shape": "team"}`,
		"queues.teams: must declare at least one team":                                          `{"shape": "teams"}`,
		"queues.localQueue: must not be default":                                                `{"localQueue": "default"}`,
		`queues.clusterQueue: "Ray" is no Kubernetes name`:                                      `{"clusterQueue": "Ray"}`,
		`queues.cohort: "a b" is no Kubernetes name`:                                            `{"cohort": "a b"}`,
		`queues.namespace: "" is no Kubernetes name`:                                            `{"namespace": ""}`,
		"queues.quota.a10: there is no pool of that name behind the queues; did you mean a100?": `{"quota": {"a10": {}}}`,
		"no pool of that name behind the queues; did you mean cpu?":                             `{"quota": {"cpus": {}}}`,
		"queues.quota.cpu.cpu: 99 is more than the 14640m that 2":                               `{"quota": {"cpu": {"cpu": 99}}}`,
		"queues.quota.cpu.cpu: 1e30 is more than the 14640m":                                    `{"quota": {"cpu": {"cpu": "1e30"}}}`,
		"memory: 9223372036854775808 is more than the 59220Mi":                                  `{"quota": {"cpu": {"memory": "9223372036854775808"}}}`,
		"queues.quota.cpu.gpus: 1 is more than the 0":                                           `{"quota": {"cpu": {"gpus": 1}}}`,
		"queues.quota.cpu.gpus: must not be negative, got -1":                                   `{"quota": {"cpu": {"gpus": -1}}}`,
		"queues.quota.cpu.cpu: must be in whole thousandths of a core":                          `{"quota": {"cpu": {"cpu": "1.00005"}}}`,
		"queues.quota.cpu.memory: must be at least 1Mi, or 0":                                   `{"quota": {"cpu": {"memory": "24"}}}`,
		"queues.quota.cpu.memory: must not be negative":                                         `{"quota": {"cpu": {"memory": "-1Gi"}}}`,

		"queues.priorities.low: must be more than 0":                         `{"priorities": {"low": 0}}`,
		"queues.priorities.normal: has the value 500 of medium":              `{"priorities": {"medium": 500}}`,
		`queues.priorities.Top: "Top" is no Kubernetes name`:                 `{"priorities": {"Top": 1}}`,
		"queues.teams.a.share: must be between 1 and":                        `{"teams": {"a": {"share": 0}}}`,
		"queues.teams.a.namespace: \"A\" is no Kubernetes name":              `{"teams": {"a": {"namespace": "A"}}}`,
		"queues.teams.b.namespace: x is the namespace of a too":              `{"teams": {"a": {"namespace": "x"}, "b": {"namespace": "x"}}}`,
		"queues.teams.b.namespace: ray-b is the namespace of a too":          `{"teams": {"a": {"namespace": "ray-b"}, "b": {}}}`,
		`queues.teams.Team_A: "Team_A" is no Kubernetes name`:                `{"teams": {"Team_A": {}}}`,
		strings.Repeat("a", 59) + `" would do`:                               `{"teams": {"` + strings.Repeat("a", 60) + `": {}}}`,
		"queues.teams.a.quota.gpu: there is no pool of that name":            `{"teams": {"a": {"quota": {"gpu": {}}}}}`,
		"queues.teams.a.quota.a100.gpus: 9 is more than the 8 that 1 nodes":  `{"teams": {"a": {"quota": {"a100": {"gpus": 9}}}}}`,
		"gpus: 5 is more than the 4 that queues.quota.a100 has":              `{"quota": {"a100": {"gpus": 4}}, "teams": {"a": {"quota": {"a100": {"gpus": 5}}}}}`,
		"queues.teams.a.borrowingLimit.a100.gpus: 9 is more":                 `{"teams": {"a": {"borrowingLimit": {"a100": {"gpus": 9}}}}}`,
		"queues.teams.a.lendingLimit.a100.cpu: 99 is more than the 94440m":   `{"teams": {"a": {"lendingLimit": {"a100": {"cpu": 99}}}}}`,
		"gpus of pool a100 add up to 10 (a 6, b 4), and there are 8":         `{"teams": {"a": {"quota": {"a100": {"gpus": 6}}}, "b": {"quota": {"a100": {"gpus": 4}}}}}`,
		"cpu of pool cpu add up to 16 (a 8, b 8), and there are 14640m":      `{"teams": {"a": {"quota": {"cpu": {"cpu": 8}}}, "b": {"quota": {"cpu": {"cpu": 8}}}}}`,
		"memory of pool cpu add up to 60Gi (a 30Gi, b 30Gi), and there are ": `{"teams": {"a": {"quota": {"cpu": {"memory": "30Gi"}}}, "b": {"quota": {"cpu": {"memory": "30Gi"}}}}}`,
	} {
		a := args(cpuPool, gpuPool)
		if err := strict.Decode("queues", []byte(config), &a); err != nil {
			t.Fatalf("%s: %v", config, err)
		}
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}

// TestOneMistakeIsOneError keeps a team that asks for too much from being told so twice.
func TestOneMistakeIsOneError(t *testing.T) {
	a := withTeams(t, args(gpuPool), `{"a": {"quota": {"a100": {"gpus": 9}}}, "b": {"quota": {"a100": {"gpus": 1}}}}`)
	if err := a.Validate(); err == nil || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("got %v", err)
	}
}

func TestValidateKnowsWhatServicesHold(t *testing.T) {
	pool := gpuPool
	pool.Reserved = sku.Resources{GPUs: 1}
	a := args(pool)
	a.Quota = map[string]Quota{"a100": q(t, "", "", 8)}
	want := "queues.quota.a100.gpus: 8 is more than the 7 that 1 nodes of the pool can allocate beside the services on it"
	if err := a.Validate(); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestSuggestionsWouldDo: what a message suggests must not be refused in turn.
func TestSuggestionsWouldDo(t *testing.T) {
	for config, want := range map[string]string{
		`{"quota": {"gpu": {"gpus": 4}}}`:                      "queues.quota.gpu: there is no pool of that name behind the queues; known are a100",
		`{"quota": {"cpus": {}, "cpu": {}}}`:                   "queues.quota.cpus: there is no pool of that name behind the queues; known are a100",
		`{"teams": {"` + strings.Repeat("A", 60) + `": {}}}`:   `leave room for the namespace ray-<team>`,
		`{"teams": {"` + strings.Repeat("a", 70) + `": {}}}`:   `has 70 characters; at most 59 leave room for the namespace ray-<team>; "` + strings.Repeat("a", 59) + `" would do`,
		`{"quota": {"cpu": {}, "a100": {}, "cpo": {}}}`:        "queues.quota.cpo: there is no pool of that name behind the queues; leave it out, or say it of one that is: a100, cpu",
		`{"priorities": {"low": 0, "lower": 0, "lowest": -1}}`: "queues.priorities.lowest: must be more than 0, which jobs without a priority have, got -1",
		`{"teams": {"a": {"quota": {"gpus": {"gpu": 4}}}}}`:    "queues.teams.a.quota.gpus.gpu: unknown key; did you mean gpus?",
	} {
		a := args(cpuPool, gpuPool)
		err := strict.Decode("queues", []byte(config), &a)
		if err == nil {
			err = a.Validate()
		}
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: want %q, got: %v", config, want, err)
		}
	}
}

// TestShapesAcceptTheSame shows that the key shape can be switched alone: all that teams may say is accepted in either.
func TestShapesAcceptTheSame(t *testing.T) {
	for _, shape := range []Shape{ShapeSingle, ShapeTeams} {
		if err := everything(t, shape).Validate(); err != nil {
			t.Errorf("%s: %v", shape, err)
		}
	}
}

func TestTooManyPools(t *testing.T) {
	a := args()
	for i := range 65 {
		a.Pools = append(a.Pools, Pool{Name: strings.Repeat("p", i+1), Nodes: 1})
	}
	if err := a.Validate(); err == nil || !strings.Contains(err.Error(), "infra.pools: 65 pools") {
		t.Errorf("got %v", err)
	}
}
