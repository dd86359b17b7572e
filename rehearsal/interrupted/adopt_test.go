package interrupted_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/rehearsal/interrupted"
)

const (
	stackURN  = "urn:pulumi:dev::ray-on-aks::"
	azure     = stackURN + "pulumi:providers:azure-native::azure-native"
	poolType  = "azure-native:containerservice/v20240901:AgentPool"
	poolURN   = stackURN + poolType + "::infra-pool-a100"
	objectURN = stackURN + "kubernetes:core/v1:Namespace::infra-namespace-a"
)

// export is a deployment with a pool and an object whose creation was broken
// off, and a deletion that was.
const export = `{"version": 3, "deployment": {"unknown": 12345678901234567890, "resources": [
  {"urn": "` + azure + `", "id": "1-2", "type": "pulumi:providers:azure-native", "inputs": {"subscriptionId": "s"}}
 ], "pending_operations": [
  {"type": "creating", "resource": {"urn": "` + poolURN + `", "type": "` + poolType + `", "provider": "` + azure + `::1-2",
   "inputs": {"resourceGroupName": "g", "resourceName": "c", "agentPoolName": "a100"}}},
  {"type": "creating", "resource": {"urn": "` + objectURN + `", "type": "kubernetes:core/v1:Namespace", "inputs": {}}},
  {"type": "deleting", "resource": {"urn": "` + objectURN + `2", "type": "kubernetes:core/v1:Namespace", "inputs": {}}}
 ]}}`

func TestBrokenOffCreatesAreAdopted(t *testing.T) {
	edited, adopted, dropped, err := interrupted.Adopt([]byte(export), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(adopted, []string{poolURN}) || !slices.Equal(dropped, []string{objectURN}) {
		t.Errorf("adopts %v, drops %v", adopted, dropped)
	}
	var got struct {
		Deployment struct {
			Resources []struct{ URN, ID string }
			Pending   []any `json:"pending_operations"`
		}
	}
	if err := json.Unmarshal(edited, &got); err != nil {
		t.Fatal(err)
	}
	const id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c/agentPools/a100"
	if r := got.Deployment.Resources; len(r) != 2 || r[1].URN != poolURN || r[1].ID != id {
		t.Errorf("resources %v", r)
	}
	if len(got.Deployment.Pending) > 0 || !strings.Contains(string(edited), "12345678901234567890") {
		t.Errorf("edited to %s", edited)
	}
}

func TestWhatIsBeingReplacedIsLeft(t *testing.T) {
	there := strings.Replace(export, `"resources": [`, `"resources": [{"urn": "`+poolURN+`", "id": "old"},`, 1)
	_, adopted, dropped, err := interrupted.Adopt([]byte(there), nil)
	if err != nil || len(adopted) > 0 || !slices.Equal(dropped, []string{poolURN, objectURN}) {
		t.Errorf("adopts %v, drops %v, %v", adopted, dropped, err)
	}
	gone := strings.Replace(there, `"id": "old"`, `"id": "old", "pendingReplacement": true`, 1)
	edited, adopted, _, err := interrupted.Adopt([]byte(gone), nil)
	if err != nil || !slices.Equal(adopted, []string{poolURN}) || strings.Count(string(edited), `"`+poolURN+`"`) != 1 || strings.Contains(string(edited), `"old"`) {
		t.Errorf("in the place of what is gone it adopts %v, %v:\n%s", adopted, err, edited)
	}
}

func TestWhatCannotBeAskedOfStaysBrokenOff(t *testing.T) {
	edited, adopted, dropped, err := interrupted.Adopt([]byte(export), []string{objectURN})
	if err != nil || !slices.Equal(adopted, []string{poolURN}) || len(dropped) > 0 {
		t.Fatalf("adopts %v, drops %v, %v", adopted, dropped, err)
	}
	var got struct {
		Deployment struct {
			Pending []struct{ Resource struct{ URN string } } `json:"pending_operations"`
		}
	}
	if err := json.Unmarshal(edited, &got); err != nil || len(got.Deployment.Pending) != 1 || got.Deployment.Pending[0].Resource.URN != objectURN {
		t.Errorf("broken off are %+v, %v", got.Deployment.Pending, err)
	}
}

// Where what was adopted cannot be looked for, the state is left as it was, and the
// next try finds the same.
func TestRecoverCanBeRepeated(t *testing.T) {
	state := []byte(export)
	refreshed := 0
	pulumi := func(_ context.Context, args ...string) (out []byte, err error) {
		switch {
		case args[0] == "cancel":
			return nil, errors.New("nothing to cancel")
		case args[1] == "export":
			return state, nil
		case args[1] == "import":
			state, err = os.ReadFile(args[3])
			return nil, err
		}
		if refreshed++; refreshed == 1 {
			return nil, errors.New("too many requests")
		}
		return nil, nil
	}
	if _, err := interrupted.Recover(t.Context(), pulumi); err == nil || !strings.Contains(err.Error(), "too many requests") || string(state) != export {
		t.Fatalf("%v, and the state is %s", err, state)
	}
	mended, err := interrupted.Recover(t.Context(), pulumi)
	if err != nil || !slices.Equal(mended.Adopted, []string{poolURN}) || !slices.Equal(mended.Dropped, []string{objectURN}) {
		t.Fatalf("%+v, %v", mended, err)
	}
}

// The state is written before what was adopted is looked for, and only that is.
func TestRecoverLooksForWhatItAdopts(t *testing.T) {
	var ran []string
	mended, err := interrupted.Recover(t.Context(), func(_ context.Context, args ...string) ([]byte, error) {
		ran = append(ran, strings.Join(args[:2], " "))
		switch {
		case args[1] == "export":
			return []byte(export), nil
		case args[1] == "import":
			state, err := os.ReadFile(args[3])
			if !strings.Contains(string(state), "agentPools/a100") {
				err = errors.Join(err, errors.New("the state lacks the pool"))
			}
			return nil, err
		case args[0] == "refresh" && !slices.Equal(args[3:], []string{"--target", poolURN}):
			return nil, errors.New("refreshes " + strings.Join(args, " "))
		}
		return nil, nil
	})
	if err != nil || !slices.Equal(mended.Adopted, []string{poolURN}) {
		t.Fatalf("%+v, %v", mended, err)
	}
	if want := []string{"cancel --yes", "stack export", "stack export", "stack import", "refresh --yes"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
}
