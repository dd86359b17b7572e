package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/urn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/raydash"
)

// TestChangesMeanWhatTheySay: a change in the middle of a stack file concerns
// exactly the objects that it names, and what the cloud and the cluster change by
// themselves is no change at all.
func TestChangesMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-changes")
	e.supervise()
	e.only("smoke")
	e.outcomes(map[string]raydash.Outcome{"": {Status: "FAILED"}})
	e.pulumi("up", "--yes", "--skip-preview")
	e.noChanges(e.runOf("smoke"), "failed", ended)

	e.cloudMoves()
	e.pulumi("refresh", "--yes", "--skip-preview")
	e.unchanged("after what the cloud changes by itself")

	run := e.runOf("smoke")
	must(t, e.reader().Ray.RayV1().RayJobs("ray-weather").Delete(t.Context(), run, metav1.DeleteOptions{}))
	e.unchanged("after a run was deleted by hand")
	e.pulumi("refresh", "--yes", "--skip-preview")
	if got := changes(e.pulumi("up", "--yes", "--skip-preview")); got["created"] != 1 || len(got) != 1 || e.runOf("smoke") != run {
		t.Errorf("after a refresh the update made %v and the run %s, want %s again", got, e.runOf("smoke"), run)
	}

	for name, test := range e.changes() {
		test.change()
		slices.Sort(test.want)
		if got := e.plan(); !slices.Equal(got, test.want) {
			t.Errorf("%s: the plan is\n\t%s\nwant\n\t%s", name, strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
		}
		test.back()
	}
	if got, want := e.plan("--replace", e.urn("infra-cluster")), e.inCluster(); !slices.Equal(got, want) {
		t.Errorf("another cluster: the plan is\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}

	e.set("ray-on-aks:infra.tags", map[string]any{"cost": "research"})
	kinds := map[string]bool{}
	for _, step := range e.plan() {
		op, kind := strings.Fields(step)[0], strings.Fields(step)[1]
		if kinds[kind] = true; op != "update" {
			t.Errorf("a tag makes the step %q", step)
		}
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, tagged) {
		t.Errorf("a tag changes %v, want %v", got, tagged)
	}
}

// change is one of a stack file, how it is taken back, and the steps of the plan
// that it makes.
type change struct {
	change, back func()
	want         []string
}

// changes are those that the plan is looked at of, by what they are.
func (e *env) changes() map[string]change {
	team := map[string]any{"share": 1}
	serving := map[string]any{"vmSize": "Standard_NC24ads_A100_v4", "max": 2, "serving": true}
	return map[string]change{
		"another Kubernetes": {
			func() { e.set("ray-on-aks:infra.cluster", map[string]any{"kubernetesVersion": "1.36"}) },
			func() { e.unset("ray-on-aks:infra.cluster") },
			[]string{"update AgentPool infra-pool-a100", "update AgentPool infra-pool-cpu", "update AgentPool infra-pool-serve", "update ManagedCluster infra-cluster",
				"update FederatedIdentityCredential infra-federation-language.ray-language-ray-workload",
				"update FederatedIdentityCredential infra-federation-weather.ray-weather-ray-workload"},
		},
		"a size that cannot be changed": {
			func() { e.set(poolsKey+"serve.vmSize", "Standard_NC48ads_A100_v4") },
			func() { e.set(poolsKey+"serve.vmSize", "Standard_NC24ads_A100_v4") },
			[]string{"replace AgentPool infra-pool-serve"},
		},
		"a pool that is renamed": {
			func() {
				e.unset(poolsKey + "serve")
				e.set(poolsKey+"offer", serving)
			},
			func() {
				e.unset(poolsKey + "offer")
				e.set(poolsKey+"serve", serving)
			},
			[]string{"create AgentPool infra-pool-offer", "delete AgentPool infra-pool-serve"},
		},
		"a team in the middle": {
			func() { e.set(queuesKey+"teams.middle", team) },
			func() { e.unset(queuesKey + "teams.middle") },
			append(teamsObjects("create", "middle"), "update ClusterQueue queues-cluster-queue-language", "update ClusterQueue queues-cluster-queue-weather"),
		},
		"a team that goes": {
			func() { e.unset(queuesKey + "teams.language") },
			func() { e.set(queuesKey+"teams.language", team) },
			append(teamsObjects("delete", "language"), "update ClusterQueue queues-cluster-queue-weather"),
		},
		"a team that is renamed and keeps its namespace": {
			func() {
				e.unset(queuesKey + "teams.language")
				e.set(queuesKey+"teams.words", map[string]any{"share": 1, "namespace": "ray-language"})
			},
			func() {
				e.unset(queuesKey + "teams.words")
				e.set(queuesKey+"teams.language", team)
			},
			[]string{"create ClusterQueue queues-cluster-queue-words", "delete ClusterQueue queues-cluster-queue-language",
				"replace LocalQueue queues-local-queue-language", "update Namespace infra-namespace-language"},
		},
		"a workload that is renamed": {
			func() {
				e.set(smokeKey+"enabled", false)
				e.set(workloadsKey+"smoke2", map[string]any{"enabled": true, "team": "weather", "entrypoint": "python -m this", "workers": 1})
			},
			func() { e.set(smokeKey+"enabled", true); e.unset(workloadsKey + "smoke2") },
			[]string{"create RayJob workloads-smoke2-‹hash›", "delete ConfigMap workloads-smoke-scripts-‹hash›", "delete RayJob workloads-smoke-‹hash›"},
		},
		"another priority": {
			func() { e.set(smokeKey+"priority", "low") },
			func() { e.set(smokeKey+"priority", "high") },
			[]string{"create RayJob workloads-smoke-‹hash›", "delete RayJob workloads-smoke-‹hash›"},
		},
		"another login": {
			func() { e.rename("admin", "rotated") },
			func() { e.rename("rotated", "admin") },
			[]string{"update kubernetes infra-kubernetes"},
		},
	}
}

// tagged are the kinds that have tags, and the credentials, which name the
// cluster's issuer: the preview of a cluster's update does not know it. Identities
// keep the tags that they are made with.
var tagged = []string{"AgentPool", "FederatedIdentityCredential", "ManagedCluster", "ResourceGroup", "StorageAccount"}

// inCluster are the steps that make the cluster anew with all that is in it, and
// what trusts its tokens.
func (e *env) inCluster() []string {
	e.Helper()
	steps := []string{"replace ManagedCluster infra-cluster", "replace kubernetes infra-kubernetes"}
	resources, _ := e.booked(e.pulumi("stack", "export"))
	for _, r := range resources {
		kind, ofKubernetes := r.URN.Type(), strings.HasPrefix(string(r.URN.Type()), "kubernetes:")
		if ofKubernetes || slices.Contains([]string{"AgentPool", "FederatedIdentityCredential"}, string(kind.Name())) {
			steps = append(steps, "replace "+string(kind.Name())+" "+madeOfNames.ReplaceAllString(r.URN.Name(), "-‹hash›"))
		}
	}
	slices.Sort(steps)
	return steps
}

// urn is that of the resource of the name.
func (e *env) urn(name string) string {
	e.Helper()
	resources, _ := e.booked(e.pulumi("stack", "export"))
	for _, r := range resources {
		if r.URN.Name() == name {
			return string(r.URN)
		}
	}
	e.Fatalf("there is no resource %s", name)
	return ""
}

// teamsObjects are the steps that make, or take away, all that a team has.
func teamsObjects(op, team string) []string {
	steps := []string{
		"Namespace infra-namespace-", "ServiceAccount infra-service-account-", "ConfigMap infra-platform-", "UserAssignedIdentity infra-identity-",
		"RoleAssignment infra-blobs-", "ClusterQueue queues-cluster-queue-", "LocalQueue queues-local-queue-",
	}
	for i, step := range steps {
		steps[i] = op + " " + step + team
	}
	steps = append(steps, fmt.Sprintf("%s FederatedIdentityCredential infra-federation-%s.ray-%s-ray-workload", op, team, team))
	for _, container := range []string{"aurora", "llm-pipeline", "models"} {
		steps = append(steps, op+" PersistentVolume infra-volume-"+team+"."+container, op+" PersistentVolumeClaim infra-claim-"+team+"."+container)
	}
	return steps
}

// plan is what an update would do: its steps in order, without those that leave
// things as they are. What is replaced is one step.
func (e *env) plan(options ...string) []string {
	e.Helper()
	out, err := e.try(append([]string{"preview", "--json"}, options...)...)
	if err != nil {
		e.Fatalf("the preview fails: %s", regexp.MustCompile(`"message": ".*"`).FindAllString(out, -1))
	}
	// Warnings of the engine may stand before it.
	_, text, _ := strings.Cut(out, "{")
	var preview struct {
		Steps []struct {
			Op  string
			URN urn.URN
		}
	}
	must(e.T, json.NewDecoder(strings.NewReader("{"+text)).Decode(&preview))
	steps := map[string]bool{}
	for _, s := range preview.Steps {
		switch s.Op {
		case "same", "read":
			continue
		case "create-replacement", "delete-replaced":
			s.Op = "replace"
		}
		name := madeOfNames.ReplaceAllString(s.URN.Name(), "-‹hash›")
		steps[fmt.Sprintf("%s %s %s", s.Op, s.URN.Type().Name(), name)] = true
	}
	return slices.Sorted(maps.Keys(steps))
}
