package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/rehearsal/cloud"
)

// kept are the kinds that a production stack's data needs.
var kept = []string{"BlobContainer", "BlobServiceProperties", "ResourceGroup", "StorageAccount"}

// TestProtectedStacks: what is protected is neither deleted nor replaced unless the
// stack file says so; the cluster can go, and come again, beside data that stay.
func TestProtectedStacks(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-protected")
	e.supervise()
	e.only("smoke")
	e.outcome(longRun)
	e.set("ray-on-aks:infra.protect", true)
	e.pulumi("up", "--yes", "--skip-preview")
	e.awaitState(e.runOf("smoke"), "running", running)
	data := e.inCloud(kept)

	e.refused("destroy", "--yes", "--skip-preview")
	e.set(poolsKey+"serve.vmSize", "Standard_NC48ads_A100_v4")
	e.refused("up", "--yes")
	e.set("ray-on-aks:infra.allowReplace", []any{"pools.serve"})
	if got, want := e.plan(), []string{"replace AgentPool infra-pool-serve"}; !slices.Equal(got, want) {
		t.Errorf("a pool that may be replaced: the plan is %v, want %v", got, want)
	}

	e.set("ray-on-aks:infra.allowReplace", []any{"cluster"})
	e.pulumi("up", "--yes", "--skip-preview")
	e.pulumi("destroy", "--yes", "--skip-preview", "--exclude-protected")
	if left := e.inCloud(nil); !slices.Equal(left, data) {
		t.Errorf("without its cluster the stack has\n%s\nwant\n%s", strings.Join(left, "\n"), strings.Join(data, "\n"))
	}
	e.pulumi("up", "--yes", "--skip-preview")
	e.awaitState(e.runOf("smoke"), "running", running)
	if again := e.inCloud(kept); !slices.Equal(again, data) {
		t.Errorf("with a cluster again the stack has the data\n%s\nwant\n%s", strings.Join(again, "\n"), strings.Join(data, "\n"))
	}

	e.set("ray-on-aks:infra.protect", false)
	e.unset("ray-on-aks:infra.allowReplace")
	e.pulumi("up", "--yes", "--skip-preview")
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// refused asserts that a command fails for what is protected, and changes nothing.
func (e *env) refused(args ...string) {
	e.Helper()
	before := e.snapshot("‹none›")
	out, err := e.try(args...)
	if err == nil || !strings.Contains(out, "protect") {
		e.Errorf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if diff := before.diff(e.snapshot("‹none›")); diff != "" {
		e.Errorf("pulumi %s was refused, and did this:\n%s", strings.Join(args, " "), diff)
	}
}

// inCloud are the ids of what is in the emulated cloud of the kinds, in order; of
// all without any.
func (e *env) inCloud(kinds []string) (ids []string) {
	e.Helper()
	must(e.T, cloud.Open(e.dir.Cloud()).View(func(r cloud.Resources) error {
		for _, id := range slices.Sorted(maps.Keys(r)) {
			kind := r[id].Type[strings.LastIndexByte(r[id].Type, ':')+1:]
			if kinds == nil || slices.Contains(kinds, kind) {
				ids = append(ids, id)
			}
		}
		return nil
	}))
	return ids
}
