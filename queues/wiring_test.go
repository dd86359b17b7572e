package queues

import (
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// register creates the component without a cluster, and answers what the engine was told, by logical name.
func register(t *testing.T, a Args) map[string]stacktest.Resource {
	t.Helper()
	recording := stacktest.Run(t, func(ctx *pulumi.Context) error {
		_, err := New(ctx, "queues", a)
		return err
	}, stacktest.Options{Stack: "test"})
	seen := map[string]stacktest.Resource{}
	for _, r := range recording.Resources {
		seen[r.Name] = r
	}
	return seen
}

// after are the logical names of what the resource comes after.
func after(r stacktest.Resource) []string {
	var names []string
	for _, urn := range r.Dependencies {
		names = append(names, urn[strings.LastIndex(urn, "::")+2:])
	}
	slices.Sort(names)
	return names
}

func TestObjectsComeAfterWhatTheyReferTo(t *testing.T) {
	seen := register(t, everything(t, ShapeTeams))
	for name, want := range map[string][]string{
		"queues-priority-low":          nil,
		"queues-flavor-a100":           nil,
		"queues-cluster-queue-ray":     {"queues-flavor-a100", "queues-flavor-cpu"},
		"queues-cluster-queue-weather": {"queues-flavor-a100", "queues-flavor-cpu"},
		"queues-local-queue-forecast_": {"queues-cluster-queue-weather"},
	} {
		if got, ok := seen[name]; !ok || !slices.Equal(after(got), want) {
			t.Errorf("%s comes after %v, want %v (registered: %t)", name, after(got), want, ok)
		}
	}
}

// TestTeamComesAndGoesAlone shows that another team's objects do not refer to it.
func TestTeamComesAndGoesAlone(t *testing.T) {
	for name, r := range register(t, everything(t, ShapeTeams)) {
		for _, other := range after(r) {
			if strings.HasSuffix(other, "-vision") && !strings.HasSuffix(name, "-vision") {
				t.Errorf("%s comes after %s", name, other)
			}
		}
	}
}

// TestSwitchReplacesLocalQueues: Kueue refuses to change the field, and a name can be taken only once.
func TestSwitchReplacesLocalQueues(t *testing.T) {
	single, teams := register(t, everything(t, ShapeSingle)), register(t, everything(t, ShapeTeams))
	for name := range teams {
		if _, ok := single[name]; !ok {
			t.Errorf("%s is only in one shape", name)
		}
	}
	for _, name := range []string{"queues-local-queue-vision", "queues-local-queue-forecast_"} {
		if r := teams[name]; !r.DeleteBeforeReplace || !slices.Equal(r.ReplaceOnChanges, []string{"spec.clusterQueue"}) {
			t.Errorf("%s: replaced on %v, deleted before: %t", name, r.ReplaceOnChanges, r.DeleteBeforeReplace)
		}
	}
}
