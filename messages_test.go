package main

import (
	"regexp"
	"strings"
	"testing"
)

const smokeOn = `{"smoke": {"enabled": true}}`

// TestOneCauseIsOneError: what follows from a mistake is not reported as well, neither in the same part nor in another.
func TestOneCauseIsOneError(t *testing.T) {
	for want, config := range map[string]map[string]string{
		`infra.pools.cpu.vmSize: unknown VM size "Standard_D8`: {
			"infra": `{"pools": {"cpu": {"vmSize": "Standard_D8"}}}`, "queues": `{"quota": {"cpu": {"cpu": 6}}}`, "workloads": smokeOn,
		},
		`infra.pools.a100.vmSize: unknown VM size "big"`: {
			"infra": `{"pools": {"a100": {"vmSize": "big", "max": 1}}}`, "queues": `{"quota": {"a100": {"gpus": 4}}, "shape": "teams", "teams": {"a": {}, "b": {}}}`,
			"workloads": `{"llm-training": {"enabled": true, "team": "a", "pool": "a100"}, "stage": {"enabled": true, "team": "b"}}`,
		},
		`infra.pools.serve.vmSize: unknown VM size "big"`: {
			"infra": `{"pools": {"serve": {"vmSize": "big", "max": 1, "serving": true}}}`, "workloads": `{"online-serving": {"enabled": true}}`,
		},
		"infra.pools.cpu.vmSize: must be a size without GPUs": {"infra": `{"pools": {"cpu": {"vmSize": "Standard_NC24ads_A100_v4"}}}`, "workloads": smokeOn},
		"infra.pools.cpu.serving: must be false":              {"infra": `{"pools": {"cpu": {"serving": true}}}`, "workloads": smokeOn},
		"infra.pools.cpu.max: must be between 1 and 254":      {"infra": `{"pools": {"cpu": {"max": 0}}}`, "workloads": smokeOn},
		"infra.pools.cpu.max: must be set too: its default":   {"infra": `{"pools": {"cpu": {"min": 9}}}`, "workloads": smokeOn},
		"infra.skus.Standard_H.memoryGiB: must be between": {
			"infra":     `{"skus": {"Standard_H": {"vcpus": 8, "quotaFamily": "x"}}, "pools": {"cpu": {"vmSize": "Standard_H"}}}`,
			"workloads": smokeOn,
		},
		`infra.name: "my_stack" is no name for a cluster`:       {"infra": `{"name": "my_stack"}`, "queues": `{"teams": {"a": {}, "b": {}}}`},
		`queues.teams.Team_A: "Team_A" is no Kubernetes name`:   {"queues": `{"teams": {"Team_A": {}}}`},
		`workloads.smoke.storage[0]: there is no container "x"`: {"workloads": `{"smoke": {"enabled": true, "storage": ["x"]}}`},
		`workloads.smoke.storage[1]: repeats models`:            {"workloads": `{"smoke": {"enabled": true, "storage": ["models", "models"]}}`},
		`workloads.smoke.preRunningDeadline: must be whole`:     {"workloads": `{"smoke": {"enabled": true, "preRunningDeadline": "0s"}}`},
		`workloads.aurora-finetune.kind: must be RayJob, as aurora-finetune is in the catalog, got RayService; declare a workload of another name`: {
			"workloads": `{"aurora-finetune": {"enabled": true, "kind": "RayService"}}`,
		},
		"queues.quota.cpu.gpu: unknown key; did you mean gpus?":        {"queues": `{"quota": {"cpu": {"gpu": 1}}}`},
		"infra: is empty; must be an object, or be left out":           {"infra": ""},
		"workloads: is empty; must be an object, or be left out":       {"workloads": "\n"},
		"queues.priorities.low: must be a whole number between -21474": {"queues": `{"priorities": {"low": 3000000000}}`},
	} {
		_, err := parse("test", from(minimal(config)))
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q alone, got: %v", want, err)
		}
	}
}

// TestEachLineHasItsPath holds one sample: mistakes in all parts, among them some whose messages are made of others or quote what was written.
func TestEachLineHasItsPath(t *testing.T) {
	path := regexp.MustCompile(`^(azure-native:|infra\.|queues\.|workloads\.)[^ ]*: `)
	_, err := parse("test", from(minimal(map[string]string{
		"infra":  `{"pools": {"cpu": {"max": 2}, "big": {"vmSize": "Standard_D16ds_v6", "max": 1}, "A": {}}, "tags": {"a/b": ""}, "storage": {"containers": ["a"]}}`,
		"queues": `{"localQueue": "Q", "quota": {"gpu": {"cpu": 1}}}`,
		"workloads": `{"smoke": {"enabled": true, "workers": 999, "head": {"cpus": 100}}, "mine": {"enabled": true, "entrypoint": "a && b"},
			"lines": {"enabled": true, "entrypoint": "python -c 'x(\\ny'"},
			"gpus": {"enabled": true, "entrypoint": "a", "worker": {"gpus": 1}}, "serve": {"enabled": true, "kind": "RayService", "script": "serve_llm.py"}}`,
	})))
	if err == nil {
		t.Fatal("accepted")
	}
	for line := range strings.Lines(err.Error()) {
		if !path.MatchString(line) {
			t.Errorf("line without a path: %s", line)
		}
	}
}

// TestSizesOfConfigReachTheWarnings: a size that the stack declares may hold what those of the table do not.
func TestSizesOfConfigReachTheWarnings(t *testing.T) {
	cfg, err := parse("test", from(minimal(map[string]string{
		"infra": `{"pools": {"a100": {"vmSize": "Standard_NC24ads_A100_v4", "max": 4}},
			"skus": {"Standard_A3_v1": {"vcpus": 48, "memoryGiB": 512, "gpus": 3, "gpuMemoryGiB": 80, "quotaFamily": "x"}}}`,
		"workloads": `{"llm-training": {"enabled": true, "workers": 3}}`,
	})))
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(cfg.Workloads.Warnings(), "\n")
	if !strings.Contains(warnings, "a node of Standard_A3_v1 has 3") {
		t.Errorf("the declared size is not named: %s", warnings)
	}
}
