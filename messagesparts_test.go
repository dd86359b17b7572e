package main

import (
	"strings"
	"testing"
)

// TestOneCauseIsOneErrorBetweenParts: where a part refuses something, the others neither judge nor suggest it.
func TestOneCauseIsOneErrorBetweenParts(t *testing.T) {
	for want, config := range map[string]map[string]string{
		"workloads.mine.workers: 4 nodes of pool cpu hold at most 4 such pods, got 5": {
			"workloads": `{"smoke": {"enabled": true}, "mine": {"enabled": true, "kind": "RayService", "entrypoint": "a:b", "pool": "cpu", "workers": 5, "worker": {"cpus": 5}}}`,
		},
		`infra.storage.containers[0]: "Models" is no name`: {
			"infra": `{"storage": {"containers": ["Models", "aurora"]}}`, "workloads": `{"stage": {"enabled": true, "storage": ["models", "aurora"], "env": {"STAGE_ITEMS": "gpt2"}}}`,
		},
		`queues.teams.Language: "Language" is no Kubernetes name`: {
			"queues": `{"teams": {"Language": {}, "b": {}}}`, "workloads": `{"smoke": {"enabled": true, "team": "language"}}`,
		},
		`infra.pools.A100: "A100" is no name for a node pool`: {
			"infra":     `{"protect": true, "allowReplace": ["pools.a100"], "pools": {"A100": {"vmSize": "Standard_NC24ads_A100_v4", "max": 4}}}`,
			"queues":    `{"quota": {"a100": {"cpu": 1}}}`,
			"workloads": `{"llm-training": {"enabled": true, "pool": "a100"}, "llm-serving": {"enabled": true, "pool": "a100"}}`,
		},
		"queues.quota.cpu.cpu: must not be negative, got -1": {
			"queues": `{"quota": {"cpu": {"cpu": -1}}}`, "workloads": smokeOn,
		},
		"queues.quota.cpu.memory: must be at least 1Mi, or 0": {
			"queues": `{"quota": {"cpu": {"memory": "24"}}}`, "workloads": smokeOn,
		},
		"queues.quota.cpu.cpu: 9223372036854775807 is more than the 29280m": {
			"queues": `{"quota": {"cpu": {"cpu": 9223372036854775807}}}`, "workloads": smokeOn,
		},
		"queues.teams.a.quota.cpu.cpu: must not be negative, got -1": {
			"queues": `{"shape": "teams", "teams": {"a": {"quota": {"cpu": {"cpu": -1}}}, "b": {}}}`, "workloads": `{"smoke": {"enabled": true, "team": "a"}}`,
		},
		"queues.teams.a.borrowingLimit.cpu.cpu: must not be negative, got -1": {
			"queues":    `{"shape": "teams", "teams": {"a": {"borrowingLimit": {"cpu": {"cpu": -1}}}, "b": {}}}`,
			"workloads": `{"smoke": {"enabled": true, "team": "a", "workers": 10, "worker": {"cpus": 2}}}`,
		},
		`queues.priorities.Urgent: "Urgent" is no`: {
			"queues": `{"priorities": {"Urgent": 700}}`, "workloads": `{"smoke": {"enabled": true, "priority": "urgent"}}`,
		},
		"infra.operators.kueue.waitForPodsReady: must be shorter than workloads.gpt2-tuning.preRunningDeadline, workloads.smoke.preRunningDeadline (45m0s), got 1h0m0s; 44m0s would do": {
			"infra":     `{"operators": {"kueue": {"waitForPodsReady": "60m"}}}`,
			"workloads": `{"smoke": {"enabled": true}, "gpt2-tuning": {"enabled": true}, "stage": {"enabled": true, "preRunningDeadline": "90m"}}`,
		},
		"of pool cpu: cpu 4000m of 3000m; ask for less, or raise queues.quota.cpu.cpu": {
			"queues": `{"quota": {"cpu": {"cpu": 3}}}`, "workloads": `{"smoke": {"enabled": true, "workers": 1, "worker": {"cpus": 3}}}`,
		},
	} {
		_, err := parse("test", from(minimal(config)))
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q alone, got: %v", want, err)
		}
	}
}
