package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// stackConfig reads a committed stack file as Pulumi hands it to the program: objects as JSON.
func stackConfig(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stack struct {
		Config map[string]any `json:"config"`
	}
	// Not strictly: the CLI keeps its own keys here too, such as encryptionsalt.
	if err := yaml.Unmarshal(data, &stack); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	config := map[string]string{}
	for key, value := range stack.Config {
		if text, ok := value.(string); ok {
			config[key] = text
			continue
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		config[key] = string(encoded)
	}
	return config
}

// from makes a source of a stack's full keys.
func from(config map[string]string) source {
	return func(key string) (string, bool) {
		if !strings.Contains(key, ":") {
			key = "ray-on-aks:" + key
		}
		value, ok := config[key]
		return value, ok
	}
}

// minimal is the least that a stack must say.
func minimal(extra map[string]string) map[string]string {
	config := map[string]string{
		"azure-native:location":       "eastus2",
		"azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000",
		"ray-on-aks:profile":          "dev",
	}
	for key, value := range extra {
		config["ray-on-aks:"+key] = value
	}
	return config
}

// stackFiles are the stacks that make a platform. What one that takes it from another says hangs on that one's outputs.
func stackFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("Pulumi.*.yaml")
	files = slices.DeleteFunc(files, func(file string) bool { return stackConfig(t, file)["ray-on-aks:platform"] != "" })
	if err != nil || len(files) < 2 {
		t.Fatalf("stack files: %v, %v", files, err)
	}
	return files
}

// stackName is the name of the stack whose file it is.
func stackName(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(file, "Pulumi."), ".yaml")
}

func TestCommittedStacksAreValidAndShort(t *testing.T) {
	for _, file := range stackFiles(t) {
		t.Run(file, func(t *testing.T) {
			config := stackConfig(t, file)
			if _, err := parse("test", from(config)); err != nil {
				t.Error(err)
			}
			keys, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkKeys("ray-on-aks", string(keys)); err != nil {
				t.Error(err)
			}
			data, err := os.ReadFile(file)
			if n := strings.Count(string(data), "\n"); err != nil || n > 25 {
				t.Errorf("%d lines: a stack file holds what differs from its profile, in at most 25", n)
			}
		})
	}
}

// TestMistakesAreNamedAllAtOnce also holds the order of the messages: it does not change from run to run.
func TestMistakesAreNamedAllAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		config map[string]string
		words  []string
	}{
		"unknown keys in two parts": {
			map[string]string{"infra": `{"pool": {}, "cluster": {"teir": "Free"}}`, "queues": `{"localQeue": "q"}`},
			[]string{
				"infra.cluster.teir: unknown key; did you mean tier?", "infra.pool: unknown key; did you mean pools?",
				"queues.localQeue: unknown key; did you mean localQueue?",
			},
		},
		"unknown key below a map": {
			map[string]string{"infra": `{"pools": {"cpu": {"vmsize": "x"}}}`, "workloads": `{"smoke": {"worker": {"gpu": 1}}}`},
			[]string{"infra.pools.cpu.vmsize: unknown key; did you mean vmSize?", "workloads.smoke.worker.gpu: unknown key; did you mean gpus?"},
		},
		"wrong kinds": {
			map[string]string{"infra": `{"pools": {"cpu": {"max": "three"}}, "tags": [1]}`,
				"workloads": `{"smoke": {"enabled": "yes", "head": {"cpus": "lots"}}}`},
			[]string{`infra.pools.cpu.max: must be a whole number, got "three"`, "infra.tags: must be an object, got [1]",
				`workloads.smoke.enabled: must be true or false, got "yes"`, "workloads.smoke.head.cpus"},
		},
		"embedded fields": {
			map[string]string{"infra": `{"operators": {"kueue": {"mod": "install"}}}`},
			[]string{"infra.operators.kueue.mod: unknown key; did you mean mode?"},
		},
		"values": {
			map[string]string{"infra": `{"name": "ray-", "pools": {"A100-training": {"vmSize": "Standard_D8ds_v6", "max": 1}, "cpu": {"count": 9}}}`,
				"queues": `{"localQueue": "default"}`, "workloads": `{"smoke": {"workers": 0, "enabled": true}}`},
			[]string{"infra.name", `infra.pools.A100-training: "A100-training" is no name for a node pool`, `"a100training" would do`,
				"infra.pools.cpu.count: must be between min 0 and max 4, got 9", "queues.localQueue: must not be default", "workloads.smoke.workers"},
		},
		"names of other parts": {
			map[string]string{"workloads": `{"smoke": {"enabled": true, "priority": "hihg", "team": "nobody"}}`, "queues": `{"quota": {"cpi": {"cpu": 1}}}`},
			[]string{"queues.quota.cpi", "workloads.smoke", "workloads.smoke"},
		},
		"no team where there are several": {
			map[string]string{"workloads": `{"smoke": {"enabled": true}}`, "queues": `{"teams": {"a": {}, "b": {}}}`},
			[]string{"workloads.smoke.team: must be set, since there are several teams: a, b"},
		},
		"a Kubernetes that the program does not know": {
			map[string]string{"infra": `{"cluster": {"kubernetesVersion": "1.99"}}`},
			[]string{`infra.cluster.kubernetesVersion: must be of 1.34, 1.35, 1.36, got "1.99"`},
		},
		"a misspelt entry of the catalog": {
			map[string]string{"workloads": `{"smoek": {"enabled": true}}`},
			[]string{"workloads.smoek: exactly one of script and entrypoint must be set; did you mean smoke?"},
		},
		"more than a machine can count": {
			map[string]string{"workloads": `{"smoke": {"enabled": true, "worker": {"cpus": 9223372036854775807}}}`},
			[]string{"workloads.smoke.worker.cpus: must be between 1m and 2048"},
		},
		"deadline below Kueue's": {
			map[string]string{"workloads": `{"smoke": {"enabled": true, "preRunningDeadline": "10m"}}`},
			[]string{"workloads.smoke.preRunningDeadline: must be longer than infra.operators.kueue.waitForPodsReady (30m0s)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("test", from(minimal(tc.config)))
			if err == nil {
				t.Fatal("accepted")
			}
			rest := err.Error()
			for _, words := range tc.words {
				_, after, found := strings.Cut(rest, words)
				if !found {
					t.Errorf("no %q, or out of order, in:\n%v", words, err)
					continue
				}
				rest = after
			}
		})
	}
}

func TestProfileAndAzureAreRequired(t *testing.T) {
	for key, words := range map[string]string{
		"ray-on-aks:profile":          "profile: must be set to dev or prod",
		"azure-native:location":       "azure-native:location: must name",
		"azure-native:subscriptionId": "azure-native:subscriptionId: must be",
	} {
		config := minimal(nil)
		delete(config, key)
		if _, err := parse("test", from(config)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

func TestMisspeltTopLevelKeyIsRefused(t *testing.T) {
	for key, hint := range map[string]string{
		"queus": "did you mean ray-on-aks:queues?",
		"zebra": "known are ray-on-aks:infra, ray-on-aks:platform, ray-on-aks:profile, ray-on-aks:queues, ray-on-aks:workloads",
	} {
		err := checkKeys("ray-on-aks", `{"ray-on-aks:`+key+`": "{}", "ray-on-aks:infra": "{}", "azure-native:location": "x"}`)
		if want := "ray-on-aks:" + key + ": unknown key; " + hint; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	err := checkKeys("ray-on-aks", `{"ray-on-aks:inf\nra": "{}"}`)
	if want := `ray-on-aks: a key must be without control characters, such as line breaks, got "inf\nra"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := checkKeys("ray-on-aks", ""); err == nil {
		t.Error("no keys to look at, and nothing said")
	}
}

func TestStackSaysOnlyWhatDiffers(t *testing.T) {
	cfg, err := parse("test", from(minimal(map[string]string{
		"infra":     `{"pools": {"cpu": {"max": 3}, "big": {"vmSize": "Standard_D16ds_v6", "max": 1}}}`,
		"workloads": `{"smoke": {"enabled": true, "env": {"SMOKE_TASKS": "8"}}, "mine": {"entrypoint": "python -c 1"}}`,
	})))
	if err != nil {
		t.Fatal(err)
	}
	if p := cfg.Infra.Pools["cpu"]; p.Max != 3 || p.VMSize != "Standard_D8ds_v6" {
		t.Errorf("the cpu pool lost its defaults: %+v", p)
	}
	smoke := cfg.Workloads.Declared["smoke"]
	if smoke.Workers != 2 || smoke.Script != "smoke.py" || smoke.Env["SMOKE_TASKS"] != "8" {
		t.Errorf("smoke lost its defaults: %+v", smoke)
	}
	if mine := cfg.Workloads.Declared["mine"]; mine.Workers != 1 || mine.Worker.Memory.String() != "4Gi" {
		t.Errorf("a workload of the stack's own got no defaults: %+v", mine)
	}
}
