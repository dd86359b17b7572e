package azurenative_test

import (
	"encoding/json"
	"os"
	"testing"

	"ray-on-aks/rehearsal/azurenative"
	"ray-on-aks/rehearsal/layout"
)

// withFaults asks for them as a scenario does, by the rehearsal's file.
func withFaults(t *testing.T, faults ...azurenative.Fault) func(*azurenative.Options) {
	t.Helper()
	return func(o *azurenative.Options) {
		data, err := json.Marshal(faults)
		if err == nil {
			err = os.WriteFile(layout.Dir(o.Dir).Faults(), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A pool that fails half-way is there and says so, the engine keeps it, and the
// next update mends it.
func TestAPoolFailsHalfWay(t *testing.T) {
	h := newHarness(t, withFaults(t, azurenative.Fault{
		Verb: "create", Type: azurenative.AgentPool, Status: 500, Code: "AllocationFailed", Half: true,
	}))
	h.create(azurenative.ResourceGroup, group())
	h.create(azurenative.ManagedCluster, cluster())
	response, err := h.tryCreate(azurenative.AgentPool, pool())
	refused(t, err, "500", "AllocationFailed")
	if state := response.outputs["provisioningState"]; !state.IsString() || state.StringValue() != "Failed" {
		t.Fatalf("the engine keeps a pool that says %v", state)
	}
	if live := h.read(response); live.outputs["provisioningState"].StringValue() != "Failed" {
		t.Errorf("the cloud says %v", live.outputs["provisioningState"])
	}
	mended, err := h.update(response, response.inputs)
	if err != nil {
		t.Fatal(err)
	}
	if state := mended.outputs["provisioningState"].StringValue(); state != "Succeeded" {
		t.Errorf("after the next update it says %s", state)
	}
}

// The fault comes once, after as many operations as were asked for.
func TestAFaultComesOnce(t *testing.T) {
	h := newHarness(t, withFaults(t, azurenative.Fault{After: 1, Status: 429, Code: "TooManyRequests"}))
	h.create(azurenative.ResourceGroup, group())
	_, err := h.tryCreate(azurenative.ManagedCluster, cluster())
	refused(t, err, "429", "TooManyRequests")
	h.create(azurenative.ManagedCluster, cluster())
	h.create(azurenative.AgentPool, pool())
}
