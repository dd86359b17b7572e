package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/infra"
	"ray-on-aks/internal/crd/crdtest"
	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// modes runs f for the dev stack as an update and as a preview.
func modes(t *testing.T, f func(t *testing.T, r stacktest.Recording, preview bool)) {
	for name, preview := range map[string]bool{"update": false, "preview": true} {
		t.Run(name, func(t *testing.T) {
			o := stacktest.Options{Stack: "dev", Config: stackConfig(t, "Pulumi.dev.yaml"), Preview: preview}
			f(t, stacktest.Run(t, program, o), preview)
		})
	}
}

func inCluster(r stacktest.Resource) bool {
	return r.Custom && strings.HasPrefix(r.Type, "kubernetes:")
}

// runHash is what names of runs end in; it follows every edit of a script.
var runHash = regexp.MustCompile(`-[0-9a-f]{8}\b`)

func TestTree(t *testing.T) {
	modes(t, func(t *testing.T, r stacktest.Recording, _ bool) {
		tree := runHash.ReplaceAllString(r.Tree(), "-<hash>")
		stacktest.Golden(t, "tree", strings.Split(strings.TrimSpace(tree), "\n"))
	})
}

// TestTheGuardIsDeletedFirst: it depends on every resource, and so a destroy that is refused is refused before anything else.
func TestTheGuardIsDeletedFirst(t *testing.T) {
	for protect, keys := range map[bool]string{true: `{"protect": true}`, false: "{}"} {
		config := stackConfig(t, "Pulumi.dev.yaml")
		config["ray-on-aks:infra"] = keys
		r := stacktest.Run(t, program, stacktest.Options{Stack: "dev", Config: config})
		guard := r.One(t, infra.GuardType)
		if guard.Protect != protect || !protect && len(guard.Dependencies) > 0 {
			t.Errorf("infra.protect %v: the guard is protected: %v, and comes after %v", protect, guard.Protect, guard.Dependencies)
		}
		for _, res := range r.Resources {
			if protect && res.Custom && !strings.HasPrefix(res.Type, "pulumi:providers:") && !slices.ContainsFunc(guard.Dependencies, func(urn string) bool {
				return strings.HasSuffix(urn, res.URN())
			}) {
				t.Errorf("the guard does not come after %s", res.URN())
			}
		}
	}
}

func TestPreviewRegistersWhatUpdateDoes(t *testing.T) {
	names := map[bool][]string{}
	modes(t, func(_ *testing.T, r stacktest.Recording, preview bool) {
		for _, res := range r.Resources {
			names[preview] = append(names[preview], res.Type+" "+res.Name)
		}
	})
	if !slices.Equal(names[true], names[false]) {
		t.Errorf("preview %v\nupdate %v", names[true], names[false])
	}
}

func TestEverythingInTheClusterGoesWithIt(t *testing.T) {
	modes(t, func(t *testing.T, r stacktest.Recording, _ bool) {
		count := 0
		for _, res := range r.Resources {
			if !inCluster(res) {
				continue
			}
			count++
			if !strings.HasSuffix(res.DeletedWith, ":ManagedCluster::infra-cluster") {
				t.Errorf("%s is deleted with %q", res.URN(), res.DeletedWith)
			}
			// Else it would be taken for still there when the cluster has been replaced.
			if !slices.Contains(res.ReplaceWith, res.DeletedWith) || !res.DeleteBeforeReplace {
				t.Errorf("%s is replaced with %q, its old one deleted first: %v", res.URN(), res.ReplaceWith, res.DeleteBeforeReplace)
			}
			if !strings.Contains(res.Provider, "::infra-kubernetes::") {
				t.Errorf("%s has the provider %q", res.URN(), res.Provider)
			}
		}
		if count < 10 {
			t.Errorf("only %d objects in the cluster", count)
		}
	})
}

func TestNoDefaultProviders(t *testing.T) {
	modes(t, func(t *testing.T, r stacktest.Recording, _ bool) {
		for _, res := range r.Resources {
			provider := strings.HasPrefix(res.Type, "pulumi:providers:") || !res.Custom
			if !provider && res.Provider == "" {
				t.Errorf("%s has no explicit provider", res.URN())
			}
		}
	})
}

func TestQueuesAndWorkloadsComeAfterKueue(t *testing.T) {
	modes(t, func(t *testing.T, r stacktest.Recording, _ bool) {
		for _, res := range r.Resources {
			if !strings.HasPrefix(res.Type, "kubernetes:kueue.x-k8s.io/") && !strings.HasPrefix(res.Type, "kubernetes:ray.io/") {
				continue
			}
			if !comesAfter(res, "Release::infra-kueue") {
				t.Errorf("%s does not come after Kueue: %v", res.URN(), res.Dependencies)
			}
			if len(res.ErrorHooks) != 1 {
				t.Errorf("%s does not wait for Kueue's webhook", res.URN())
			}
		}
		job := r.One(t, ":RayJob")
		for _, name := range []string{
			"LocalQueue::queues-local-queue-ray", "ClusterQueue::queues-cluster-queue-ray", "AgentPool::infra-pool-a100", "Namespace::infra-namespace-ray",
			"RoleAssignment::infra-blobs-ray", "FederatedIdentityCredential::infra-federation-ray.ray-ray-workload",
			"ServiceAccount::infra-service-account-ray", "ConfigMap::infra-platform-ray", "PersistentVolumeClaim::infra-claim-ray.models",
		} {
			if !comesAfter(job, name) {
				t.Errorf("the job does not come after %s", name)
			}
		}
		if !slices.Equal(job.IgnoreChanges, []string{"spec"}) {
			t.Errorf("the job ignores %v", job.IgnoreChanges)
		}
		// Where a tenant goes, its namespace and the jobs in it go first: Kueue keeps the queue as long as one of them is admitted.
		if queue := r.One(t, ":ClusterQueue"); comesAfter(queue, "Namespace::infra-namespace-ray") {
			t.Error("the ClusterQueue would be deleted before the namespace whose jobs it has admitted")
		}
	})
}

func comesAfter(r stacktest.Resource, name string) bool {
	return slices.ContainsFunc(r.Dependencies, func(urn string) bool { return strings.HasSuffix(urn, ":"+name) })
}

func TestEmittedObjectsAreValid(t *testing.T) {
	modes(t, func(t *testing.T, r stacktest.Recording, _ bool) {
		checked := 0
		for _, res := range r.Resources {
			if !strings.HasPrefix(res.Type, "kubernetes:kueue.x-k8s.io/") && !strings.HasPrefix(res.Type, "kubernetes:ray.io/") {
				continue
			}
			checked++
			if err := crdtest.Check(plain(t, res.Inputs)); err != nil {
				t.Errorf("%s: %v", res.URN(), err)
			}
		}
		// Two flavors, two queues, three classes of priority, one job.
		if checked != 8 {
			t.Errorf("%d custom resources were checked, want 8", checked)
		}
	})
}

// plain returns inputs as JSON values, failing on anything unknown: every custom resource is known at preview of an empty stack.
func plain(t *testing.T, inputs resource.PropertyMap) map[string]any {
	t.Helper()
	if inputs.ContainsUnknowns() || inputs.ContainsSecrets() {
		t.Fatal("unknown or secret values in a custom resource")
	}
	return jsonNumbers(inputs.Mappable()).(map[string]any)
}

// jsonNumbers turns whole floats into the integers that an API server decodes.
func jsonNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			v[key] = jsonNumbers(child)
		}
	case []any:
		for i, child := range v {
			v[i] = jsonNumbers(child)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func TestProdIsProtected(t *testing.T) {
	config := minimal(nil)
	config["ray-on-aks:profile"] = "prod"
	r := stacktest.Run(t, program, stacktest.Options{Stack: "prod", Config: config})
	for _, suffix := range []string{":ManagedCluster", ":AgentPool", ":StorageAccount", ":BlobContainer"} {
		found := r.OfType(suffix)
		if len(found) == 0 {
			t.Errorf("no resource of type %s", suffix)
		}
		for _, res := range found {
			if !res.Protect {
				t.Errorf("%s is not protected", res.URN())
			}
		}
	}
}

func TestProgramRefusesMisspeltKeys(t *testing.T) {
	_, err := stacktest.Try(t, program, stacktest.Options{Stack: "dev", Config: minimal(map[string]string{"queus": "{}"})})
	if err == nil || !strings.Contains(err.Error(), "ray-on-aks:queus: unknown key; did you mean ray-on-aks:queues?") {
		t.Errorf("got %v", err)
	}
}

func TestRehearsalInstallsKueueAlone(t *testing.T) {
	r := stacktest.Run(t, program, stacktest.Options{Stack: "rehearsal", Config: stackConfig(t, "Pulumi.rehearsal.yaml")})
	release := r.One(t, ":Release")
	if got := release.Inputs["chart"].StringValue(); got != "./.rehearsal/charts/kueue" {
		t.Errorf("chart %s", got)
	}
	if release.Inputs.HasValue("version") {
		t.Error("a folder has no version to choose")
	}
}
