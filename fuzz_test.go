package main

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/crd/crdtest"
	"ray-on-aks/internal/stacktest"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// An ordinary run of the tests tries some mutations, always the same. More of them, from another number on, are tried by
// go test -run FuzzStack . -args -mutations 20000 -from 7, and by go test -fuzz FuzzStack, which is slower and goes after what was not yet run.
var (
	mutations = flag.Int("mutations", 250, "how many mutations of stacks FuzzStack tries")
	start     = flag.Uint64("from", 1, "the number that the mutations of FuzzStack follow from")
)

// FuzzStack runs the whole program on stacks that a mutator has made of valid and invalid ones. A stack is refused in lines that each begin
// with a key's path, and the same again; or it previews and updates, and the API server would take what is made of it.
func FuzzStack(f *testing.F) {
	seeds := seedStacks(f)
	for i := range seeds {
		f.Add(uint16(i), []byte{})
	}
	random := rand.New(rand.NewPCG(*start, 0))
	for i := range *mutations {
		script := make([]byte, 3+random.IntN(1+random.IntN(20)))
		for j := range script {
			script[j] = byte(random.Uint32())
		}
		// Half of them of the last, which says most; the others rather of those that are first, which are valid.
		seed := len(seeds) - 1
		if i%2 == 0 {
			seed = random.IntN(random.IntN(10) + 1)
		}
		f.Add(uint16(seed), script)
	}
	f.Fuzz(func(t *testing.T, seed uint16, script []byte) {
		checkStack(t, mutated(t, seeds[int(seed)%len(seeds)], script))
	})
}

// seedStacks are all stacks that lie here, and those that the documentation shows, as the JSON of their config.
func seedStacks(f *testing.F) []string {
	f.Helper()
	files, err := filepath.Glob("Pulumi.*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	invalid, err := filepath.Glob(filepath.Join(invalidStacks, "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	var seeds []string
	for _, file := range append(files, invalid...) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		var stack struct {
			Config json.RawMessage `json:"config"`
		}
		if err := yaml.Unmarshal(data, &stack); err != nil {
			f.Fatalf("%s: %v", file, err)
		}
		seeds = append(seeds, string(stack.Config))
	}
	return append(seeds, everyKey)
}

// everyKey is a valid stack that says something by each key that the samples leave to its default.
const everyKey = `{"azure-native:location": "eastus2", "azure-native:subscriptionId": "00000000-0000-0000-0000-000000000000", "ray-on-aks:profile": "prod",
"ray-on-aks:infra": {"name": "ray", "serviceAccount": "ray-workload", "protect": true, "allowReplace": ["cluster", "pools.h100"], "tags": {"owner": "vision"},
	"cluster": {"kubernetesVersion": "1.35.3", "tier": "Premium", "disableLocalAccounts": true, "adminGroups": ["11111111-1111-1111-1111-111111111111"],
		"login": "workloadidentity", "system": {"vmSize": "Standard_D8ds_v6", "count": 2, "zones": ["1", "2"]}},
	"pools": {"cpu": {"vmSize": "Standard_D32ds_v6", "min": 1, "max": 6, "count": 2}, "a100": {"vmSize": "Standard_ND96amsr_A100_v4", "max": 2},
		"h100": {"vmSize": "Standard_NC80adis_H100_v5", "max": 2, "zones": ["3"]}, "serve": {"vmSize": "Standard_NC24ads_A100_v4", "max": 4, "serving": true}},
	"skus": {"Standard_NC80adis_H100_v5": {"vcpus": 80, "memoryGiB": 640, "nvmeGiB": 7152, "gpus": 2, "gpuMemoryGiB": 94, "quotaFamily": "standardNCadsH100v5Family"}},
	"storage": {"accountPrefix": "data", "sku": "Standard_GZRS", "containers": ["aurora", "llm-pipeline", "models", "raw"], "hierarchicalNamespace": true},
	"operators": {"kuberay": {"chart": "oci://example.azurecr.io/kuberay", "version": "1.6.1"}, "devicePlugin": {"mode": "preinstalled"}, "gpuMonitoring": {"version": "1.0.0"},
		"kueue": {"frameworks": ["batch/job"], "waitForPodsReady": "20m", "requeueLimit": 3, "retainFinished": "24h"}}},
"ray-on-aks:queues": {"shape": "teams", "clusterQueue": "all", "cohort": "gpus", "localQueue": "jobs", "namespace": "ray",
	"quota": {"a100": {"cpu": "180", "memory": "3Ti", "gpus": 16}},
	"teams": {"language": {"namespace": "nlp", "share": 3, "quota": {"a100": {"gpus": 8}}, "borrowingLimit": {"h100": {"gpus": 2}}},
		"weather": {"share": 1, "lendingLimit": {"a100": {"gpus": 4}, "cpu": {"cpu": 10, "memory": "40Gi"}}}},
	"priorities": {"urgent": 2000}},
"ray-on-aks:workloads": {
	"smoke": {"enabled": true, "team": "weather", "priority": "urgent", "workers": 3, "worker": {"cpus": "1500m", "memory": "6Gi"}, "head": {"cpus": 2, "memory": "4Gi"}, "generation": 2, "keep": true},
	"llm-training": {"enabled": true, "team": "language", "pool": "a100", "workers": 8, "env": {"LLM_MAX_STEPS": "4"}, "retries": 1, "activeDeadline": "10h", "preRunningDeadline": "50m"},
	"mine": {"enabled": true, "kind": "RayJob", "team": "language", "image": "example.azurecr.io/mine:1", "entrypoint": "python train.py --day '$(date)'", "storage": ["raw"], "output": "raw/results", "env": {"A": "$(B)"}},
	"answers": {"enabled": true, "kind": "RayService", "team": "weather", "pool": "serve", "image": "example.azurecr.io/mine:1", "entrypoint": "answers.app:app", "routePrefix": "/answers", "worker": {"cpus": 4, "memory": "16Gi", "gpus": 1}},
	"online-serving": {"enabled": true, "team": "weather", "env": {"SERVE_MODEL": "tiny"}}}}`

// topLevel are what the path of an error begins with.
var topLevel = regexp.MustCompile(`^(azure-native:[A-Za-z]+|ray-on-aks(:.*)?|profile|infra|queues|workloads)([.\[].*)?: .`)

// checkStack holds the program to what FuzzStack says of it.
func checkStack(t *testing.T, config map[string]string) {
	t.Helper()
	cfg, err := parse("fuzz", from(config))
	if err == nil {
		keys, encodeErr := json.Marshal(config)
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		err = checkKeys(stacktest.Project, string(keys))
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !topLevel.MatchString(line) {
				t.Errorf("no path begins %q of:\n%s", line, err)
			}
		}
		_, again := parse("fuzz", from(config))
		if keysAlone := again == nil; !keysAlone && again.Error() != err.Error() {
			t.Errorf("another time the errors are:\n%v\nand not:\n%v", again, err)
		}
		return
	}
	for _, warning := range cfg.Warnings() {
		if !topLevel.MatchString(warning) {
			t.Errorf("no path begins %q", warning)
		}
	}
	names := map[bool][]string{}
	for _, preview := range []bool{true, false} {
		r, err := stacktest.Try(t, program, stacktest.Options{Stack: "fuzz", Config: config, Preview: preview})
		if err != nil {
			t.Fatalf("is accepted, and then (preview: %t): %v", preview, err)
		}
		names[preview] = checkRegistered(t, r)
	}
	if !slices.Equal(names[true], names[false]) {
		t.Errorf("preview registers %v\nand update %v", names[true], names[false])
	}
}

// checkRegistered refuses what the engine or the API server would: a name that two have, a label that is none, an object of another form. It
// returns what there is.
func checkRegistered(t *testing.T, r stacktest.Recording) []string {
	t.Helper()
	var urns []string
	objects := map[string]string{}
	for _, res := range r.Resources {
		urns = append(urns, res.URN())
		if !strings.HasPrefix(res.Type, "kubernetes:") || strings.HasSuffix(res.Type, ":Release") {
			continue
		}
		metadata, ok := res.Inputs["metadata"].Mappable().(map[string]any)
		if !ok {
			t.Errorf("%s has no metadata", res.URN())
			continue
		}
		kind, _, _ := strings.Cut(res.Type, "@")
		name, _ := metadata["name"].(string)
		namespace, _ := metadata["namespace"].(string)
		key := strings.Join([]string{kind, namespace, name}, " ")
		if other, taken := objects[key]; taken {
			t.Errorf("%s and %s are both %s", other, res.URN(), key)
		}
		objects[key] = res.URN()
		checkMetadata(t, res.URN(), name, metadata["labels"])
		if strings.HasPrefix(res.Type, "kubernetes:kueue.x-k8s.io/") || strings.HasPrefix(res.Type, "kubernetes:ray.io/") {
			if err := crdtest.Check(plain(t, res.Inputs)); err != nil {
				t.Errorf("%s: %v", res.URN(), err)
			}
		}
	}
	slices.Sort(urns)
	if compact := slices.Compact(slices.Clone(urns)); len(compact) != len(urns) {
		t.Errorf("two resources have one name among %v", urns)
	}
	return urns
}

func checkMetadata(t *testing.T, urn, name string, labels any) {
	t.Helper()
	if msgs := validation.IsDNS1123Subdomain(name); len(msgs) > 0 {
		t.Errorf("%s has the name %q: %v", urn, name, msgs)
	}
	all, _ := labels.(map[string]any)
	for key, value := range all {
		text, _ := value.(string)
		if msgs := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(text)...); len(msgs) > 0 {
			t.Errorf("%s has the label %s: %q: %v", urn, key, value, msgs)
		}
	}
}
