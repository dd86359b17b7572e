package azurenative_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"ray-on-aks/rehearsal/azurenative"
)

func surge(value any) map[string]any {
	return map[string]any{"upgradeSettings": map[string]any{"maxSurge": value}}
}

func taint(value any) map[string]any { return map[string]any{"nodeTaints": []any{value}} }

func label(key string, value any) map[string]any {
	return map[string]any{"nodeLabels": map[string]any{key: value}}
}

func zones(names ...any) map[string]any { return map[string]any{"availabilityZones": names} }

// poolRefusals are changes to a pool and the one failure that they make, in a
// pool of its own and, below agentPoolProfiles[0], inline.
var poolRefusals = map[string]struct {
	changes map[string]any
	path    string
	want    []string
}{
	"count above":         {map[string]any{"count": 1001.0}, "count", []string{"and 1000", "got 1001; the nearest is 1000"}},
	"count below":         {map[string]any{"count": -1.0}, "count", []string{"must lie between", "got -1"}},
	"minCount below":      {map[string]any{"minCount": -1.0}, "minCount", []string{"must lie between", "got -1"}},
	"maxCount above":      {map[string]any{"maxCount": 1001.0}, "maxCount", []string{"and 1000", "the nearest is 1000"}},
	"range upside down":   {map[string]any{"minCount": 9.0}, "minCount", []string{"must not exceed maxCount"}},
	"maxPods below":       {map[string]any{"maxPods": 9.0}, "maxPods", []string{"must lie between 10 and 250, got 9; the nearest is 10"}},
	"maxPods above":       {map[string]any{"maxPods": 251.0}, "maxPods", []string{"must lie between 10 and 250, got 251; the nearest is 250"}},
	"disk below":          {map[string]any{"osDiskSizeGB": -1.0}, "osDiskSizeGB", []string{"must lie between 0 and 2048, got -1"}},
	"disk above":          {map[string]any{"osDiskSizeGB": 2049.0}, "osDiskSizeGB", []string{"the nearest is 2048"}},
	"no surge":            {surge("0"), "upgradeSettings.maxSurge", []string{"a whole number from 1 on, or 1% to 100%", `got "0"`}},
	"surge above":         {surge("101%"), "upgradeSettings.maxSurge", []string{"1% to 100%"}},
	"no surge in percent": {surge("0%"), "upgradeSettings.maxSurge", []string{"1% to 100%"}},
	"surge with a space":  {surge("33 %"), "upgradeSettings.maxSurge", []string{`try "33%"`}},
	"surge as a fraction": {surge("2.5"), "upgradeSettings.maxSurge", []string{`got "2.5" (3 characters)`}},
	"taint effect":        {taint("gpu=yes:Noschedule"), "nodeTaints[0]", []string{"NoExecute, NoSchedule, PreferNoSchedule", `did you mean "NoSchedule"`}},
	"taint without one":   {taint("gpu=yes"), "nodeTaints[0]", []string{"must be key=value:effect or key:effect"}},
	"taint key":           {taint("my gpu:NoSchedule"), "nodeTaints[0]", []string{`has the key "my gpu": name part must consist of`}},
	"taint without key":   {taint("=yes:NoSchedule"), "nodeTaints[0]", []string{`has the key ""`}},
	"taint value":         {taint("gpu=a=b:NoSchedule"), "nodeTaints[0]", []string{`has the value "a=b"`}},
	"label key":           {label("-team", "a"), `nodeLabels["-team"]`, []string{`has the key "-team"`}},
	"label value":         {label("team", "a b"), "nodeLabels.team", []string{`has the value "a b"`}},
	"label value length":  {label("team", strings.Repeat("a", 64)), "nodeLabels.team", []string{"63"}},
	"reserved label":      {label("kubernetes.azure.com/mode", "user"), `nodeLabels["kubernetes.azure.com/mode"]`, []string{"which AKS keeps", `try "mode"`}},
	"spot's label":        {label("kubernetes.azure.com/scalesetpriority", "spot"), `nodeLabels["kubernetes.azure.com/scalesetpriority"]`, []string{"which AKS keeps"}},
	"zone":                {zones("1", "4"), "availabilityZones[1]", []string{`"1", "2" or "3", got "4"`}},
	"zone of a region":    {zones("eastus2-1"), "availabilityZones[0]", []string{"must be a zone"}},
	"zone twice":          {zones("1", "2", "1"), "availabilityZones[2]", []string{`names zone "1" a second time`}},
	"version":             {map[string]any{"orchestratorVersion": "v1.34.2"}, "orchestratorVersion", []string{"major.minor.patch", `try "1.34.2"`}},
	"version in part":     {map[string]any{"orchestratorVersion": "1"}, "orchestratorVersion", []string{"must be a version"}},
	"empty size":          {map[string]any{"vmSize": ""}, "vmSize", []string{"must be the name of a VM size"}},
	"tag":                 {map[string]any{"tags": map[string]any{"a?": "b"}}, `tags["a?"]`, []string{"its name must be"}},
	"tag value":           {map[string]any{"tags": map[string]any{"a": strings.Repeat("b", 257)}}, "tags.a", []string{"at most 256 characters"}},
	"too many tags":       {map[string]any{"tags": tags(51)}, "tags", []string{"must be at most 50 tags, got 51"}},
}

func TestPoolRefusals(t *testing.T) {
	h := newHarness(t)
	for name, test := range poolRefusals {
		t.Run(name, func(t *testing.T) {
			h := &harness{t: t, provider: h.provider}
			_, own := h.check(azurenative.AgentPool, properties(with(pool(), test.changes)))
			_, inline := h.check(azurenative.ManagedCluster, properties(profile(test.changes)))
			if len(own) != 1 || len(inline) != 1 {
				t.Fatalf("failures %q and, inline, %q, want one each", own, inline)
			}
			for i, failure := range []string{own[0], inline[0]} {
				if at := []string{"", "agentPoolProfiles[0]."}[i] + test.path + ": "; !strings.HasPrefix(failure, at) {
					t.Errorf("%q is not at %q", failure, at)
				}
				for _, want := range test.want {
					if !strings.Contains(failure, want) {
						t.Errorf("%q lacks %q", failure, want)
					}
				}
			}
		})
	}
}

// The ends of the ranges are accepted, and what is unknown is left for later.
func TestPoolAcceptances(t *testing.T) {
	h := newHarness(t)
	unknown := resource.MakeComputed(resource.NewProperty(""))
	for name, changes := range map[string]map[string]any{
		"least": {"count": 1.0, "minCount": 1.0, "maxCount": 1.0, "maxPods": 10.0, "osDiskSizeGB": 0.0, "orchestratorVersion": "1.34"},
		"most": {"count": 1000.0, "minCount": 1000.0, "maxCount": 1000.0, "maxPods": 250.0, "osDiskSizeGB": 2048.0,
			"orchestratorVersion": "1.34.2", "tags": tags(50)},
		"surge 1%": surge("1%"), "surge 100%": surge("100%"), "surge 5": surge("5"),
		"taint without value": taint("gpu:PreferNoSchedule"), "taint": taint("example.com/gpu=a_b:NoExecute"), "empty taint value": taint("gpu=:NoSchedule"),
		"label": label("example.com/team", "a.b"), "empty label": label("team", ""), "reserved look-alike": label("example.com/kubernetes.azure.com", "a"),
		"zones": zones("3", "1", "2"),
		"tags":  {"tags": map[string]any{strings.Repeat("n", 512): "", "a:b c": strings.Repeat("é", 256)}},
		"unknown": {"count": unknown, "minCount": unknown, "maxCount": unknown, "maxPods": unknown, "osDiskSizeGB": unknown,
			"orchestratorVersion": unknown, "vmSize": unknown, "nodeTaints": unknown, "nodeLabels": unknown,
			"availabilityZones": unknown, "upgradeSettings": unknown, "tags": unknown},
		"unknown within": {"nodeTaints": []any{unknown}, "nodeLabels": map[string]any{"team": unknown}, "availabilityZones": []any{unknown, unknown},
			"upgradeSettings": map[string]any{"maxSurge": unknown}, "tags": map[string]any{"a": unknown}},
	} {
		if _, failures := h.check(azurenative.AgentPool, properties(with(pool(), changes))); failures != nil {
			t.Errorf("%s: %q", name, failures)
		}
		if _, failures := h.check(azurenative.ManagedCluster, properties(profile(changes))); failures != nil {
			t.Errorf("%s, inline: %q", name, failures)
		}
	}
}

// A Spot pool may say the label and the taint that AKS gives it anyway, and no
// other value of them.
func TestASpotPoolMaySayThatItIsOne(t *testing.T) {
	h := newHarness(t)
	for value, want := range map[string]int{"spot": 0, "regular": 1} {
		_, failures := h.check(azurenative.AgentPool, properties(with(pool(), map[string]any{"scaleSetPriority": "Spot",
			"nodeLabels": map[string]any{"kubernetes.azure.com/scalesetpriority": value},
			"nodeTaints": []any{"kubernetes.azure.com/scalesetpriority=spot:NoSchedule"}})))
		if len(failures) != want {
			t.Errorf("value %q: failures %q, want %d", value, failures, want)
		}
	}
}

// A key that does not exist is refused with a null value too, at any depth,
// and one that exists counts as absent.
func TestMisspeltNulls(t *testing.T) {
	h := newHarness(t)
	null := resource.NewNullProperty()
	inputs := properties(profile(map[string]any{"vmSise": null, "spotMaxPrice": null, "upgradeSettings": map[string]any{"maxsurge": resource.MakeSecret(null)}}))
	inputs["kubernetesVersoin"], inputs["fqdnSubdomain"] = null, null
	_, failures := h.check(azurenative.ManagedCluster, inputs)
	wanted := []string{`agentPoolProfiles[0].upgradeSettings.maxsurge: is not a property of AgentPoolUpgradeSettings in this API version; did you mean "maxSurge"?`,
		`agentPoolProfiles[0].vmSise: is not a property of ManagedClusterAgentPoolProfile in this API version; did you mean "vmSize"?`,
		`kubernetesVersoin: is not a property of ManagedCluster in this API version; did you mean "kubernetesVersion"?`}
	if strings.Join(failures, "\n") != strings.Join(wanted, "\n") {
		t.Errorf("failures %q, want %q", failures, wanted)
	}
}
