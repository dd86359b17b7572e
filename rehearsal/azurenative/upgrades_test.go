package azurenative_test

import (
	"testing"

	"ray-on-aks/rehearsal/azurenative"
)

// TestUpgrades: one minor at a time, never back, and the cluster before its pools.
func TestUpgrades(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	version := func(v string) map[string]any { return with(cluster(), map[string]any{"kubernetesVersion": v}) }
	main := h.create(azurenative.ManagedCluster, version("1.34"))
	workers := func(v string) map[string]any { return with(pool(), map[string]any{"orchestratorVersion": v}) }
	apart := h.create(azurenative.AgentPool, workers("1.34"))

	_, err := h.update(main, properties(version("1.36")))
	refused(t, err, "400", "Upgrading Kubernetes version 1.34 to 1.36 is not allowed. Available upgrades: [1.35]")
	_, err = h.update(apart, properties(workers("1.35")))
	refused(t, err, "400", "NodePoolMcVersionIncompatible", "1.35", "1.34")

	// AKS takes both to a patch, and a change of something else leaves them there.
	for _, patch := range []struct {
		of  made
		key string
	}{{main, "currentKubernetesVersion"}, {apart, "currentOrchestratorVersion"}} {
		h.edit(patch.of.id, func(outputs map[string]any) { outputs[patch.key] = "1.34.7" })
		tagged := with(workers("1.34"), map[string]any{"tags": map[string]any{"a": "b"}})
		if patch.of.token == azurenative.ManagedCluster {
			tagged = with(version("1.34"), map[string]any{"tags": map[string]any{"a": "b"}})
		}
		changed, err := h.update(patch.of, properties(tagged))
		if err != nil {
			t.Fatal(err)
		}
		if got := changed.outputs[resourceKey(patch.key)]; !got.IsString() || got.StringValue() != "1.34.7" {
			t.Errorf("%s is %v after a change of tags", patch.key, got)
		}
	}
	_, err = h.update(main, properties(version("1.34.2")))
	refused(t, err, "400", "Upgrading Kubernetes version 1.34.7 to 1.34.2 is not allowed")
	if _, err = h.update(main, properties(version("1.35"))); err != nil {
		t.Fatal(err)
	}
	if _, err = h.update(apart, properties(workers("1.35"))); err != nil {
		t.Fatal(err)
	}
}
