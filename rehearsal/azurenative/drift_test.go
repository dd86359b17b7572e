package azurenative_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ray-on-aks/rehearsal/azurenative"
)

const hold = 150 * time.Millisecond

func failing(verb, token string) func(*azurenative.Options) {
	return func(o *azurenative.Options) {
		o.Fault = func(_ context.Context, operation azurenative.Operation) error {
			if operation.Verb == verb && operation.Type == token && !operation.Accepted {
				return errors.New("no capacity")
			}
			return nil
		}
	}
}

// Drift made in the cloud's file shows after a refresh, at its path, and the
// next update ends it.
func TestDriftShows(t *testing.T) {
	for name, test := range map[string]struct {
		of   string
		edit func(outputs map[string]any)
		want string // path in the diff
	}{
		"count moved":      {"pool", func(o map[string]any) { o["count"] = 3.0 }, "count"},
		"taint added":      {"pool", func(o map[string]any) { o["nodeTaints"] = append(o["nodeTaints"].([]any), "spot=true:NoSchedule") }, "nodeTaints[1]"},
		"tag added":        {"account", func(o map[string]any) { o["tags"].(map[string]any)["by"] = "hand" }, "tags.by"},
		"tag removed":      {"group", func(o map[string]any) { delete(o, "tags") }, "tags"},
		"default changed":  {"account", func(o map[string]any) { o["publicNetworkAccess"] = "Disabled" }, "publicNetworkAccess"},
		"inline pool":      {"cluster", func(o map[string]any) { o["agentPoolProfiles"].([]any)[0].(map[string]any)["count"] = 2.0 }, "agentPoolProfiles[0].count"},
		"nested":           {"cluster", func(o map[string]any) { o["autoScalerProfile"].(map[string]any)["expander"] = "random" }, "autoScalerProfile.expander"},
		"read-only output": {"cluster", func(o map[string]any) { o["powerState"] = map[string]any{"code": "Stopped"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			was := h.stack()[test.of]
			h.edit(was.id, test.edit)
			refreshed := h.read(was)
			shown := h.diff(refreshed, was.inputs)
			if test.want == "" {
				if len(shown.DetailedDiff) > 0 {
					t.Errorf("shows %v", shown.DetailedDiff)
				}
				return
			}
			if _, ok := shown.DetailedDiff[test.want]; !ok {
				t.Fatalf("shows %v, want %s", shown.DetailedDiff, test.want)
			}
			if len(shown.DetailedDiff) > 1 {
				t.Errorf("shows more than the drift: %v", shown.DetailedDiff)
			}
			// ignoreChanges cannot change a list's length.
			ignore, _, _ := strings.Cut(test.want, "[1]")
			if ignored := h.diff(refreshed, was.inputs, ignore); len(ignored.DetailedDiff) > 0 {
				t.Errorf("ignored, it still shows %v", ignored.DetailedDiff)
			}
			again := h.read(refreshed)
			if d := h.diff(again, refreshed.inputs); len(d.DetailedDiff) > 0 {
				t.Errorf("a second refresh shows %v", d.DetailedDiff)
			}
			if _, err := h.update(refreshed, was.inputs); err != nil {
				t.Fatal(err)
			}
			healed := h.read(made{token: was.token, id: was.id, inputs: was.inputs, outputs: was.outputs})
			if d := h.diff(healed, was.inputs); len(d.DetailedDiff) > 0 {
				t.Errorf("after the update it shows %v", d.DetailedDiff)
			}
		})
	}
}

// A pool whose count the autoscaler owns: the program leaves count out, or
// ignores it, and nothing shows.
func TestAutoscaledCount(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	h.create(azurenative.ManagedCluster, cluster())
	was := h.create(azurenative.AgentPool, with(pool(), map[string]any{"count": 2.0}))
	h.edit(was.id, func(o map[string]any) { o["count"] = 0.0 })
	refreshed := h.read(was)
	if d := h.diff(refreshed, was.inputs, "count"); len(d.DetailedDiff) > 0 {
		t.Errorf("with count ignored it shows %v", d.DetailedDiff)
	}
	// The engine sends the refreshed count with the next update.
	tagged := refreshed.inputs.Copy()
	tagged["tags"] = properties(map[string]any{"tags": map[string]any{"a": "b"}})["tags"]
	updated, err := h.update(refreshed, tagged)
	if err != nil {
		t.Fatal(err)
	}
	if count := updated.outputs["count"].NumberValue(); count != 0 {
		t.Errorf("a change of tags moved the count to %v", count)
	}
}

func TestReplacements(t *testing.T) {
	h := newHarness(t)
	all := h.stack()
	for name, test := range map[string]struct {
		of          string
		changes     map[string]any
		replaced    string
		deleteFirst bool
	}{
		"pool size":        {"pool", map[string]any{"vmSize": "Standard_NC24ads_A100_v4"}, "vmSize", true},
		"pool zones":       {"pool", map[string]any{"availabilityZones": []any{"2"}}, "availabilityZones[0]", true},
		"pool zones gone":  {"pool", map[string]any{"availabilityZones": nil}, "availabilityZones", true},
		"pool name":        {"pool", map[string]any{"agentPoolName": "a100b"}, "agentPoolName", false},
		"pool range":       {"pool", map[string]any{"maxCount": 8.0}, "", false},
		"account location": {"account", map[string]any{"location": "westus3"}, "location", true},
		"account HNS":      {"account", map[string]any{"isHnsEnabled": true}, "isHnsEnabled", true},
		"cluster plugin":   {"cluster", map[string]any{"networkProfile": map[string]any{"networkPlugin": "kubenet"}}, "networkProfile.networkPlugin", true},
		"cluster tags":     {"cluster", map[string]any{"tags": map[string]any{"stack": "prod"}}, "", false},
		"role":             {"assignment", map[string]any{"principalId": guid}, "principalId", true},
	} {
		t.Run(name, func(t *testing.T) {
			was := all[test.of]
			inputs := was.inputs.Copy()
			for key, value := range properties(test.changes) {
				inputs[key] = value
			}
			shown := h.diff(was, inputs)
			if len(shown.DetailedDiff) == 0 {
				t.Fatal("no difference")
			}
			if got := shown.Replace(); got != (test.replaced != "") {
				t.Errorf("replaces: %v (%v)", got, shown.DetailedDiff)
			}
			if test.replaced != "" && !shown.DetailedDiff[test.replaced].Kind.IsReplace() {
				t.Errorf("%s is no reason to replace: %v", test.replaced, shown.DetailedDiff)
			}
			if shown.DeleteBeforeReplace != test.deleteFirst {
				t.Errorf("deletes first: %v", shown.DeleteBeforeReplace)
			}
		})
	}
}
