package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// host is the full name of the stack whose platform the tests use.
const host = "organization/ray-on-aks/rehearsal"

// hostOutputs are those of the rehearsal's stack with other parts, as another stack reads them.
func hostOutputs(t *testing.T, parts map[string]string) resource.PropertyMap {
	t.Helper()
	config := stackConfig(t, "Pulumi.rehearsal.yaml")
	for key, value := range parts {
		config["ray-on-aks:"+key] = value
	}
	results, _ := exports(t, stacktest.Options{Stack: "rehearsal", Config: config})
	return stacktest.Outputs(t, results)
}

// guest are the options of a stack with these parts that takes its platform from one with these outputs.
func guest(outputs resource.PropertyMap, parts map[string]string) stacktest.Options {
	o := stacktest.Options{Stack: "team", Config: map[string]string{"ray-on-aks:platform": `{"stack": "rehearsal"}`}, Stacks: map[string]resource.PropertyMap{host: outputs}}
	for key, value := range parts {
		if !strings.Contains(key, ":") {
			key = "ray-on-aks:" + key
		}
		o.Config[key] = value
	}
	return o
}

// refused is what the program says when it refuses a stack.
func refused(t *testing.T, o stacktest.Options) string {
	t.Helper()
	_, err := stacktest.Try(t, program, o)
	if err == nil {
		t.Fatal("accepted")
	}
	return refusal(err)
}

// TestWorkloadsAreTheSameOnAnotherStacksPlatform: what a stack makes of its workloads does not depend on whose the platform is. Services
// need room for their heads that no queue hands out.
func TestWorkloadsAreTheSameOnAnotherStacksPlatform(t *testing.T) {
	config := stackConfig(t, "Pulumi.rehearsal.yaml")
	declared := config["ray-on-aks:workloads"]
	queues := strings.Replace(config["ray-on-aks:queues"], `{`, `{"quota": {"cpu": {"cpu": "24", "memory": "72Gi"}}, `, 1)
	whole := maps.Clone(config)
	whole["ray-on-aks:queues"] = queues
	fullOutputs, full := exports(t, stacktest.Options{Stack: "rehearsal", Config: whole})
	outputs := hostOutputs(t, map[string]string{"queues": queues, "workloads": "{}"})

	for name, preview := range map[string]bool{"update": false, "preview": true} {
		t.Run(name, func(t *testing.T) {
			o := guest(outputs, map[string]string{"workloads": declared})
			o.Preview = preview
			r := stacktest.Run(t, program, o)
			for _, kind := range []string{":RayJob", ":RayService", ":ConfigMap"} {
				if got, want := made(r, kind), made(full, kind); len(want) == 0 || !maps.Equal(got, want) {
					t.Errorf("%s: got %v\nwant %v", kind, got, want)
				}
			}
			for _, res := range r.Resources {
				if strings.Contains(res.Type, "azure-native") || strings.HasSuffix(res.Type, ":Infra") || strings.HasSuffix(res.Type, ":Queues") {
					t.Errorf("it registers %s", res.URN())
				}
			}
			p := r.One(t, "pulumi:providers:kubernetes").Inputs
			if !p["kubeconfig"].IsSecret() || p["kubeconfig"].SecretValue().Element.StringValue() != stacktest.Kubeconfig {
				t.Errorf("the provider's kubeconfig is %v", p["kubeconfig"])
			}
			if got, want := p["clusterIdentifier"], full.One(t, "pulumi:providers:kubernetes").Inputs["clusterIdentifier"]; !got.DeepEquals(want) {
				t.Errorf("the provider's cluster is %v, want %v", got, want)
			}
		})
	}

	results, _ := exports(t, guest(outputs, map[string]string{"workloads": declared}))
	got, want := stacktest.Outputs(t, results), stacktest.Outputs(t, fullOutputs)
	if names, all := got.StableKeys(), []resource.PropertyKey{"kubeconfig", "rayImage", "rayVersion", "runs", "serviceTokens", "services"}; !slices.Equal(names, all) {
		t.Errorf("outputs %v, want %v", names, all)
	}
	for name, value := range got {
		if !value.DeepEquals(want[name]) {
			t.Errorf("output %s: %v\nwant %v", name, value, want[name])
		}
	}
}

// made are the inputs, as text, of what the component for workloads has made of a kind.
func made(r stacktest.Recording, kind string) map[string]string {
	found := map[string]string{}
	for _, res := range r.OfType(kind) {
		if strings.HasSuffix(res.Parent, ":Workloads::workloads") {
			found[res.Name] = resource.NewProperty(res.Inputs).String() + strings.Join(res.IgnoreChanges, " ") + strings.Join(res.ReplaceOnChanges, " ")
		}
	}
	return found
}

// TestEveryObjectOnAnotherStacksPlatform has that cluster's provider, and waits for Kueue's webhook.
func TestEveryObjectOnAnotherStacksPlatform(t *testing.T) {
	r := stacktest.Run(t, program, guest(hostOutputs(t, map[string]string{"workloads": "{}"}), map[string]string{"workloads": `{"smoke": {"enabled": true, "team": "language"}}`}))
	count := 0
	for _, res := range r.Resources {
		if !inCluster(res) {
			continue
		}
		count++
		if !strings.Contains(res.Provider, "::platform-kubernetes::") || len(res.ErrorHooks) != 1 {
			t.Errorf("%s has the provider %q and %d hooks", res.URN(), res.Provider, len(res.ErrorHooks))
		}
	}
	if count != 2 {
		t.Errorf("%d objects, want a run and its scripts", count)
	}
}

// TestOneTeamsStack has that team as the default of its workloads, and none of the others'.
func TestOneTeamsStack(t *testing.T) {
	outputs := hostOutputs(t, map[string]string{"workloads": "{}"})
	o := guest(outputs, map[string]string{"platform": `{"stack": "` + host + `", "team": "language"}`, "workloads": smokeOn})
	job := stacktest.Run(t, program, o).One(t, ":RayJob")
	if got := job.Inputs["metadata"].ObjectValue()["namespace"].StringValue(); got != "ray-language" {
		t.Errorf("the job is in %s", got)
	}
	for want, parts := range map[string]map[string]string{
		`platform.team: there is no team "langage"; did you mean language?`: {"platform": `{"stack": "rehearsal", "team": "langage"}`},
		"workloads.smoke.team: must be language, which this stack is for (platform.team), or left out, got weather": {
			"platform": `{"stack": "rehearsal", "team": "language"}`, "workloads": `{"smoke": {"enabled": true, "team": "weather"}}`,
		},
	} {
		if got := refused(t, guest(outputs, parts)); got != want {
			t.Errorf("want %q alone, got: %s", want, got)
		}
	}
}
