package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// TestWhatAPlatformMustBe: what is missing, or of another release, in the outputs of the platform's stack is said with what to do.
func TestWhatAPlatformMustBe(t *testing.T) {
	whole := hostOutputs(t, map[string]string{"workloads": "{}"})
	for name, tc := range map[string]struct {
		change func(outputs, platform resource.PropertyMap)
		want   string
	}{
		"not up": {func(o, _ resource.PropertyMap) { clear(o) },
			"gives out no platform: it is not up, or no stack of ray-on-aks; run pulumi up there first, or name another"},
		"an older release": {func(o, _ resource.PropertyMap) { delete(o, "platform") },
			"gives out no platform: it was last updated by an older release; run pulumi up there with this one first"},
		"on another's platform itself": {func(o, _ resource.PropertyMap) { delete(o, "platform"); delete(o, "clusterName") },
			"gives out no platform: it takes its own from another stack; name that one"},
		"another program": {func(o, _ resource.PropertyMap) { o["platform"] = resource.NewProperty("aks") },
			"the output platform of " + host + " is no platform of ray-on-aks; name a stack of this program"},
		"a newer form": {func(_, p resource.PropertyMap) { p["form"] = resource.NewProperty(2.0) },
			"gives out its platform in form 2, and this program reads form 1; update this program to the release that stack is of"},
		"an older form": {func(_, p resource.PropertyMap) { p["form"] = resource.NewProperty(0.0) },
			"gives out its platform in form 0, and this program reads form 1; run pulumi up there with this release first"},
		"parts that are missing or too many": {func(_, p resource.PropertyMap) {
			delete(p, "cluster")
			delete(p, "pools")
		}, "are not those of this release; run pulumi up there: platform.cluster: is missing; platform.pools: is missing"},
		"parts of another kind": {func(_, p resource.PropertyMap) {
			p["pool"] = p["pools"]
			p["cpuPool"] = resource.NewProperty(1.0)
		}, "are not those of this release; run pulumi up there: platform.cpuPool: must be a text, got 1; write it in quotes: \"1\"; platform.pool: unknown key; did you mean pools?"},
		"no kubeconfig": {func(o, _ resource.PropertyMap) { delete(o, "kubeconfig") }, "gives out no kubeconfig that can be read here"},
		"secrets of which the key is not there": {func(o, _ resource.PropertyMap) { o["kubeconfig"] = resource.NewProperty(resource.PropertyMap{}) },
			"gives out no kubeconfig that can be read here; the key of that stack's secrets is needed, such as its PULUMI_CONFIG_PASSPHRASE"},
	} {
		t.Run(name, func(t *testing.T) {
			outputs := whole.Copy()
			platform := outputs["platform"].ObjectValue().Copy()
			outputs["platform"] = resource.NewProperty(platform)
			tc.change(outputs, platform)
			for _, preview := range []bool{false, true} {
				o := guest(outputs, map[string]string{"workloads": smokeOn})
				o.Preview = preview
				got := refused(t, o)
				if strings.Contains(got, "\n") || !strings.HasPrefix(got, "platform.stack: ") || !strings.Contains(got, tc.want) {
					t.Errorf("preview %v: want %q alone, got: %s", preview, tc.want, got)
				}
			}
		})
	}
}

// TestFormOfTheOffer holds the keys of the output `platform` to its form. Who changes them raises offerForm, which makes another file.
func TestFormOfTheOffer(t *testing.T) {
	stacktest.Golden(t, fmt.Sprintf("platform-form-%d", offerForm), keyKinds("platform", reflect.TypeFor[Offer]()))
}

// keyKinds are the kinds of all values below path.
func keyKinds(path string, t reflect.Type) map[string]string {
	kinds := map[string]string{}
	for key, f := range objectKeys(t) {
		kind, below, inner := shape(f.Type)
		at := path + "." + key
		if inner == nil {
			kinds[at] = kind
			continue
		}
		maps.Copy(kinds, keyKinds(at+below, inner))
	}
	return kinds
}

// TestStackOnAnotherSaysOnlyWhatIsItsOwn: which stack, and workloads. All mistakes are said at once.
func TestStackOnAnotherSaysOnlyWhatIsItsOwn(t *testing.T) {
	outputs := hostOutputs(t, map[string]string{"workloads": `{"stage": {"enabled": true, "team": "language"}}`})
	const own = "is the platform's, which this stack takes from another (platform); take it out here, and change it in that one's file"
	const owner = " (infra and queues are keys of stack " + host + ")"
	for name, tc := range map[string]struct {
		parts map[string]string
		want  []string
	}{
		"parts of the platform": {map[string]string{"infra": "{}", "queues": "{}", "profile": "dev"}, []string{"infra: " + own, "profile: " + own, "queues: " + own}},
		"the platform's Azure": {map[string]string{"azure-native:location": "eastus2", "azure-native:subscriptionId": "x"}, []string{
			"azure-native:location: " + own, "azure-native:subscriptionId: " + own}},
		"no stack":  {map[string]string{"platform": "{}"}, []string{"platform.stack: must name the stack that made the platform, for example prod-eastus2"}},
		"no object": {map[string]string{"platform": "prod"}, []string{`platform: must be an object, got "prod"`}},
		"no name":   {map[string]string{"platform": `{"stack": "ray-on-aks/prod"}`}, []string{`platform.stack: must be a stack's name or organization/project/name, got "ray-on-aks/prod"`}},
		"itself":    {map[string]string{"platform": `{"stack": "team"}`}, []string{"platform.stack: must be another stack than this one, organization/ray-on-aks/team"}},
		// These are the engine's words.
		"no such stack": {map[string]string{"platform": `{"stack": "nowhere"}`}, []string{`unknown stack "organization/ray-on-aks/nowhere"`}},
		"several mistakes": {map[string]string{"platform": `{"stak": "rehearsal"}`, "infra": "{}", "workloads": `{"smoke": {"enabled": 1}}`}, []string{
			"workloads.smoke.enabled: must be true or false, got 1", "infra: " + own, "platform.stak: unknown key; did you mean stack?"}},
		"a team that the platform lacks": {map[string]string{"workloads": `{"smoke": {"enabled": true, "team": "vision"}}`}, []string{
			`workloads.smoke.team: there is no team "vision"; known are language, weather`}},
		"no team": {map[string]string{"workloads": smokeOn}, []string{"workloads.smoke.team: must be set, since there are several teams: language, weather"}},
		"more than the platform has": {map[string]string{"workloads": `{"smoke": {"enabled": true, "team": "language", "workers": 999}}`}, []string{
			"workloads.smoke: the worker can never run from queue ray-jobs: with 999 of it beside the head of smoke (1 of 1000m CPU, 4096Mi and 0 GPUs) the run exceeds what the queue can ever get of pool cpu: cpu"}},
		"a key that the platform's file has": {map[string]string{"workloads": `{"smoke": {"enabled": true, "team": "language", "preRunningDeadline": "10m"}}`}, []string{
			"workloads.smoke.preRunningDeadline: must be longer than infra.operators.kueue.waitForPodsReady (30m0s), got 10m0s" + owner}},
		"a service on a pool of the queues": {map[string]string{"workloads": `{"llm-serving": {"enabled": true, "team": "language", "pool": "a100"}}`}, []string{
			"workloads.llm-serving.pool: pool a100 is shared with the queues of stack " + host}},
		"a service without room for its head": {map[string]string{"workloads": `{"llm-serving": {"enabled": true, "team": "language"}}`}, []string{
			"workloads.llm-serving.head: the heads of services are on pool cpu, outside the queues, and exceed what those of stack " + host + " leave of it"}},
		"a name that the platform's stack has": {map[string]string{"workloads": `{"stage": {"enabled": true, "team": "language"}}`}, []string{
			"workloads.stage: stack " + host + " has a workload of this name for team language as well"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := refused(t, guest(outputs, tc.parts))
			lines := strings.Split(got, "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(tc.want), got)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
		})
	}
}
