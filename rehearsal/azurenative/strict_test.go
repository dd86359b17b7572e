package azurenative_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"ray-on-aks/rehearsal/azurenative"
)

// profile is the cluster with its system pool changed.
func profile(changes map[string]any) map[string]any {
	return with(cluster(), map[string]any{"agentPoolProfiles": []any{with(systemPool(), changes)}})
}

// refusals are inputs with one thing wrong and what the one failure must say.
var refusals = map[string]struct {
	token  string
	inputs map[string]any
	want   []string // parts of the one failure
}{
	"misspelt key": {azurenative.AgentPool, with(pool(), map[string]any{"vmSise": "x"}),
		[]string{"vmSise: is not a property of AgentPool", `did you mean "vmSize"`}},
	"misspelt nested key": {azurenative.ManagedCluster, profile(map[string]any{"upgradeSettings": map[string]any{"maxsurge": "1"}}),
		[]string{"agentPoolProfiles[0].upgradeSettings.maxsurge: ", `did you mean "maxSurge"`}},
	"ARM's name instead of Pulumi's": {azurenative.StorageAccount, with(account(), map[string]any{"supportsHttpsTrafficOnly": true}),
		[]string{"supportsHttpsTrafficOnly: is not a property", `did you mean "enableHttpsTrafficOnly"`}},
	"read-only property": {azurenative.AgentPool, with(pool(), map[string]any{"nodeImageVersion": "x"}),
		[]string{"nodeImageVersion: is not a property"}},
	"key of a newer API: GPU driver": {azurenative.AgentPool, with(pool(), map[string]any{"gpuProfile": map[string]any{"driver": "None"}}),
		[]string{"gpuProfile: is not a property of AgentPool in this API version"}},
	"key of a newer API: maxUnavailable": {azurenative.AgentPool, with(pool(), map[string]any{"upgradeSettings": map[string]any{"maxUnavailable": "1"}}),
		[]string{"upgradeSettings.maxUnavailable: ", "drainTimeoutInMinutes, maxSurge, nodeSoakDurationInMinutes"}},
	"bad enum": {azurenative.AgentPool, with(pool(), map[string]any{"scaleSetPriority": "Sport"}),
		[]string{"scaleSetPriority: must be one of Regular, Spot", `did you mean "Spot"`}},
	"bad nested enum": {azurenative.ManagedCluster, with(cluster(), map[string]any{"sku": map[string]any{"name": "Base", "tier": "standard"}}),
		[]string{"sku.tier: must be one of Free, Premium, Standard", `did you mean "Standard"`}},
	"bad enum in storage": {azurenative.StorageAccount, with(account(), map[string]any{"minimumTlsVersion": "1.2"}),
		[]string{"minimumTlsVersion: must be one of TLS1_0, TLS1_1, TLS1_2"}},
	"bad principal type": {azurenative.RoleAssignment, with(assignment("/subscriptions/s", guid), map[string]any{"principalType": "ServicePrincpal"}),
		[]string{"principalType: must be one of", `did you mean "ServicePrincipal"`}},
	"string for a number": {azurenative.AgentPool, with(pool(), map[string]any{"maxPods": "110"}),
		[]string{`maxPods: must be a number, got the string "110"`}},
	"fraction":            {azurenative.AgentPool, with(pool(), map[string]any{"maxPods": 110.5}), []string{"maxPods: must be a whole number"}},
	"number for a string": {azurenative.ManagedCluster, with(cluster(), map[string]any{"kubernetesVersion": 1.34}), []string{"kubernetesVersion: must be a string, got the number 1.34"}},
	"object for a list":   {azurenative.AgentPool, with(pool(), map[string]any{"nodeTaints": map[string]any{}}), []string{"nodeTaints: must be a list, got an object"}},
	"required":            {azurenative.StorageAccount, with(account(), map[string]any{"sku": nil}), []string{"sku: is required"}},
	"pool name with hyphen": {azurenative.AgentPool, with(pool(), map[string]any{"agentPoolName": "a100-training"}),
		[]string{"agentPoolName: must be 1-12 lower-case letters and digits", `try "a100training"`}},
	"pool name in capitals": {azurenative.AgentPool, with(pool(), map[string]any{"agentPoolName": "A100"}), []string{`try "a100"`}},
	"pool name too long":    {azurenative.AgentPool, with(pool(), map[string]any{"agentPoolName": "gputrainingpool1"}), []string{`try "gputrainingp"`}},
	"pool name with digit":  {azurenative.AgentPool, with(pool(), map[string]any{"agentPoolName": "1gpu"}), []string{`try "gpu"`}},
	"inline pool name":      {azurenative.ManagedCluster, profile(map[string]any{"name": "sys-pool"}), []string{"agentPoolProfiles[0].name: ", `try "syspool"`}},
	"account name":          {azurenative.StorageAccount, with(account(), map[string]any{"accountName": "Ray-Data"}), []string{"accountName: must be 3-24", `try "raydata"`}},
	"container name":        {azurenative.BlobContainer, with(container(), map[string]any{"containerName": "LLM_pipeline"}), []string{"containerName: ", `try "llm-pipeline"`}},
	"cluster name":          {azurenative.ManagedCluster, with(cluster(), map[string]any{"resourceName": "-aks-"}), []string{"resourceName: must be 1-63", `try "aks"`}},
	"group name":            {azurenative.ResourceGroup, with(group(), map[string]any{"resourceGroupName": "rg ray"}), []string{"resourceGroupName: must be 1-90", `try "rg-ray"`}},
	"identity name":         {azurenative.UserAssignedIdentity, with(identity(), map[string]any{"resourceName": "a"}), []string{"resourceName: must be 3-128"}},
	"credential name":       {azurenative.FederatedIdentityCredential, credential("team a/ray"), []string{"CredentialResourceName: must be 3-120", `try "team-a-ray"`}},
	"assignment name":       {azurenative.RoleAssignment, with(assignment("/subscriptions/s", guid), map[string]any{"roleAssignmentName": "blob"}), []string{"roleAssignmentName: must be a GUID"}},
	"role by name":          {azurenative.RoleAssignment, with(assignment("/subscriptions/s", guid), map[string]any{"roleDefinitionId": "Storage Blob Data Contributor"}), []string{"roleDefinitionId: must be the full id"}},
	"audiences":             {azurenative.FederatedIdentityCredential, with(credential("ray"), map[string]any{"audiences": []any{}}), []string{"audiences: must hold exactly one"}},
	"count outside the autoscaler's range": {azurenative.AgentPool, with(pool(), map[string]any{"count": 5.0}),
		[]string{"count: must lie within minCount 0 and maxCount 4"}},
	"range without autoscaler": {azurenative.AgentPool, with(pool(), map[string]any{"enableAutoScaling": false, "maxCount": nil}), []string{"minCount: is only allowed where enableAutoScaling"}},
	"autoscaler without range": {azurenative.AgentPool, with(pool(), map[string]any{"maxCount": nil}), []string{"maxCount: is required where enableAutoScaling"}},
	"spot system pool":         {azurenative.ManagedCluster, profile(map[string]any{"scaleSetPriority": "Spot"}), []string{"agentPoolProfiles[0].scaleSetPriority: a system pool cannot be Spot"}},
	"tag name": {azurenative.ResourceGroup, with(group(), map[string]any{"tags": map[string]any{"cost/center": "1"}}),
		[]string{`tags["cost/center"]: its name must be 1-512 characters without < > % & \ ? and /`, `try "cost-center"`}},
	"long tag name":  {azurenative.UserAssignedIdentity, with(identity(), map[string]any{"tags": map[string]any{strings.Repeat("n", 513): "1"}}), []string{"1-512 characters", "(513 characters)"}},
	"long tag value": {azurenative.StorageAccount, with(account(), map[string]any{"tags": map[string]any{"a": strings.Repeat("é", 257)}}), []string{"tags.a: must be at most 256 characters, got 257"}},
	"too many tags":  {azurenative.ManagedCluster, with(cluster(), map[string]any{"tags": tags(51)}), []string{"tags: must be at most 50 tags, got 51"}},
	"cluster version": {azurenative.ManagedCluster, with(cluster(), map[string]any{"kubernetesVersion": "v1.34"}),
		[]string{"kubernetesVersion: must be a version, major.minor or major.minor.patch", `try "1.34"`}},
	"empty group":       {azurenative.ResourceGroup, with(group(), map[string]any{"resourceGroupName": ""}), []string{"resourceGroupName: must be 1-90"}},
	"empty parent":      {azurenative.AgentPool, with(pool(), map[string]any{"resourceGroupName": ""}), []string{"resourceGroupName: must not be empty"}},
	"empty subject":     {azurenative.FederatedIdentityCredential, with(credential("ray"), map[string]any{"subject": ""}), []string{"subject: must not be empty"}},
	"empty audience":    {azurenative.FederatedIdentityCredential, with(credential("ray"), map[string]any{"audiences": []any{""}}), []string{"audiences[0]: must not be empty", "api://AzureADTokenExchange"}},
	"empty inline pool": {azurenative.ManagedCluster, with(cluster(), map[string]any{"agentPoolProfiles": []any{map[string]any{}}}), []string{"agentPoolProfiles[0].name: is required"}},
	"empty system pool": {azurenative.ManagedCluster, profile(map[string]any{"count": 0.0, "enableAutoScaling": nil, "minCount": nil, "maxCount": nil}),
		[]string{"agentPoolProfiles[0].count: must lie between 1 and 1000 in a system pool, got 0; the nearest is 1"}},
	"autoscaled system pool to zero": {azurenative.ManagedCluster, profile(map[string]any{"minCount": 0.0}),
		[]string{"agentPoolProfiles[0].minCount: must lie between 1 and 1000 in a system pool, got 0"}},
	"no system pool": {azurenative.ManagedCluster, profile(map[string]any{"mode": "User"}), []string{"agentPoolProfiles: must hold at least one pool of mode System"}},
}

// tags are n tags.
func tags(n int) map[string]any {
	out := map[string]any{}
	for i := range n {
		out["tag"+itoa(i)] = "x"
	}
	return out
}

// Each refusal names the path, the rule and, where there is one, what was
// probably meant.
func TestRefusals(t *testing.T) {
	h := newHarness(t)
	for name, test := range refusals {
		t.Run(name, func(t *testing.T) {
			h := &harness{t: t, provider: h.provider}
			_, failures := h.check(test.token, properties(test.inputs))
			if len(failures) != 1 {
				t.Fatalf("%d failures, want 1: %q", len(failures), failures)
			}
			for _, want := range test.want {
				if !strings.Contains(failures[0], want) {
					t.Errorf("%q lacks %q", failures[0], want)
				}
			}
			if _, err := h.provider.Create(t.Context(), createRequest(test.token, test.inputs)); err == nil {
				t.Error("created nevertheless")
			}
		})
	}
}

const guid = "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d"

// All that is wrong is said at once.
func TestAllErrorsAtOnce(t *testing.T) {
	h := newHarness(t)
	_, failures := h.check(azurenative.AgentPool, properties(with(pool(), map[string]any{
		"agentPoolName": "A-100", "vmSise": "x", "mode": "user", "maxPods": "many", "count": 9.0,
		"upgradeSettings": map[string]any{"maxUnavailable": "1"}})))
	for i, want := range []string{"agentPoolName: ", "count: ", "maxPods: ", "mode: ", "upgradeSettings.maxUnavailable: ", "vmSise: "} {
		if i >= len(failures) || !strings.HasPrefix(failures[i], want) {
			t.Fatalf("failures %q, want one at each of the six places", failures)
		}
	}
}

// What is unknown in a preview is not judged there; the rest is, and so is the
// value itself once it is known.
func TestUnknownsAreCheckedLater(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	unknown := resource.MakeComputed(resource.NewProperty(""))
	inputs := properties(cluster())
	inputs["dnsPrefix"], inputs["kubernetesVersion"] = unknown, resource.MakeSecret(unknown)
	inputs["agentPoolProfiles"].ArrayValue()[0].ObjectValue()["mode"] = unknown
	checked, failures := h.check(azurenative.ManagedCluster, inputs)
	if failures != nil {
		t.Fatalf("an unknown is refused: %q", failures)
	}
	request := createRequest(azurenative.ManagedCluster, nil)
	request.Properties, request.Preview = checked, true
	answer, err := h.provider.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if h.count() != 1 {
		t.Error("a preview changed the cloud")
	}
	for _, key := range []string{"fqdn", "dnsPrefix", "name", "identityProfile"} {
		if value := answer.Properties[resourceKey(key)]; !value.ContainsUnknowns() {
			t.Errorf("%s is %v in a preview", key, value)
		}
	}
	if enabled := answer.Properties["oidcIssuerProfile"].ObjectValue()["enabled"]; !enabled.IsBool() {
		t.Errorf("what the program said itself is %v in a preview", enabled)
	}
	inputs["undefined"] = unknown
	if _, failures := h.check(azurenative.ManagedCluster, inputs); len(failures) != 1 {
		t.Errorf("an unknown key with an unknown value: %q", failures)
	}
	request.Properties, request.Preview = properties(with(cluster(), map[string]any{"dnsPrefix": "-no-"})), false
	if _, err := h.provider.Create(t.Context(), request); err == nil || !strings.Contains(err.Error(), "dnsPrefix: must be 1-54") {
		t.Errorf("a value that turned out wrong: %v", err)
	}
}

func TestTypesThatAreNotEmulated(t *testing.T) {
	h := newHarness(t)
	_, err := h.provider.Create(t.Context(), createRequest("azure-native:network:VirtualNetwork", nil))
	for _, want := range []string{"emulated azure-native", "network:VirtualNetwork", azurenative.AgentPool, azurenative.RoleAssignment} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
