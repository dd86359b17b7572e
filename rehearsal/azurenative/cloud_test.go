package azurenative_test

import (
	"fmt"
	"strings"
	"testing"

	"ray-on-aks/rehearsal/azurenative"
)

func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
}

func TestParents(t *testing.T) {
	h := newHarness(t)
	_, err := h.tryCreate(azurenative.StorageAccount, account())
	refused(t, err, "404", "ResourceGroupNotFound", "rg-ray")
	h.create(azurenative.ResourceGroup, group())
	for token, inputs := range map[string]map[string]any{
		azurenative.BlobContainer: container(), azurenative.AgentPool: pool(), azurenative.FederatedIdentityCredential: credential("ray"),
	} {
		_, err := h.tryCreate(token, inputs)
		refused(t, err, "404", "ParentResourceNotFound")
	}
	h.create(azurenative.StorageAccount, account())
	_, err = h.tryCreate(azurenative.StorageAccount, account())
	refused(t, err, "409", "Conflict", "already existing resource")
	h.create(azurenative.ResourceGroup, with(group(), map[string]any{"resourceGroupName": "other"}))
	_, err = h.tryCreate(azurenative.StorageAccount, with(account(), map[string]any{"resourceGroupName": "other"}))
	refused(t, err, "409", "StorageAccountAlreadyTaken")
	_, err = h.tryCreate(azurenative.BlobContainer, with(container(), map[string]any{"publicAccess": "Blob"}))
	refused(t, err, "409", "PublicAccessNotPermitted")
}

func TestLastSystemPoolStays(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	made := h.create(azurenative.ManagedCluster, cluster())
	second := h.create(azurenative.AgentPool, with(pool(), map[string]any{"agentPoolName": "system2", "mode": "System", "minCount": 1.0, "count": 1.0}))
	_, err := h.tryCreate(azurenative.AgentPool, with(pool(), map[string]any{"agentPoolName": "system"}))
	refused(t, err, "409", "inline in cluster aks-ray")
	// The inline system pool becomes a user pool behind the engine's back.
	h.edit(made.id, func(outputs map[string]any) {
		outputs["agentPoolProfiles"].([]any)[0].(map[string]any)["mode"] = "User"
	})
	refused(t, h.delete(second), "400", "at least one system agent pool", "system2")
	demoted, _ := h.check(azurenative.AgentPool, properties(with(pool(), map[string]any{"agentPoolName": "system2"})))
	_, err = h.update(second, demoted)
	refused(t, err, "at least one system agent pool")
	if err := h.delete(made); err != nil {
		t.Errorf("deleting the cluster with its last system pool: %v", err)
	}
}

func TestInlinePools(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	made := h.create(azurenative.ManagedCluster, cluster())
	_, err := h.update(made, properties(profile(map[string]any{"name": "system2"})))
	refused(t, err, "400", "new agent pool", "system2")
	_, err = h.update(made, properties(profile(map[string]any{"vmSize": "Standard_D8s_v5"})))
	refused(t, err, "400", "PropertyChangeNotAllowed", "vmSize")
	tagged, err := h.update(made, properties(with(cluster(), map[string]any{"tags": map[string]any{"stack": "prod"}})))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"identityProfile", "fqdn", "oidcIssuerProfile", "identity"} {
		if !tagged.outputs[resourceKey(key)].DeepEquals(made.outputs[resourceKey(key)]) {
			t.Errorf("%s changed with the tags", key)
		}
	}
}

func TestFederatedCredentials(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	h.create(azurenative.UserAssignedIdentity, identity())
	first := h.create(azurenative.FederatedIdentityCredential, credential("first"))
	_, err := h.tryCreate(azurenative.FederatedIdentityCredential, with(credential("twin"), map[string]any{"subject": credential("first")["subject"]}))
	refused(t, err, "409", "Issuer and subject combination already exists")
	for i := range 19 {
		h.create(azurenative.FederatedIdentityCredential, credential(fmt.Sprintf("more-%d", i)))
	}
	_, err = h.tryCreate(azurenative.FederatedIdentityCredential, credential("one-too-many"))
	refused(t, err, "400", "20")
	if err := h.delete(first); err != nil {
		t.Fatal(err)
	}
	h.create(azurenative.FederatedIdentityCredential, credential("one-too-many"))
}

// Overlapping writes on one identity are refused, creates and deletes alike;
// other identities are not held up.
func TestConcurrentCredentialWrites(t *testing.T) {
	h := newHarness(t, func(o *azurenative.Options) { o.CredentialHold = hold })
	h.create(azurenative.ResourceGroup, group())
	h.create(azurenative.UserAssignedIdentity, identity())
	h.create(azurenative.UserAssignedIdentity, with(identity(), map[string]any{"resourceName": "id-team-b"}))
	first := h.create(azurenative.FederatedIdentityCredential, credential("first"))

	overlap := func(one, two func() error) (failed []error) {
		errs := make(chan error, 2)
		for _, do := range []func() error{one, two} {
			go func() { errs <- do() }()
		}
		for range 2 {
			if err := <-errs; err != nil {
				failed = append(failed, err)
			}
		}
		return failed
	}
	create := func(inputs map[string]any) func() error {
		return func() error {
			_, err := h.provider.Create(t.Context(), createRequest(azurenative.FederatedIdentityCredential, inputs))
			return err
		}
	}
	const code = "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity"
	if failed := overlap(create(credential("second")), create(credential("third"))); len(failed) != 1 {
		t.Errorf("two creates at once: %v", failed)
	} else {
		refused(t, failed[0], "409", code)
	}
	if failed := overlap(create(credential("fourth")), func() error { return h.delete(first) }); len(failed) != 1 {
		t.Errorf("a create and a delete at once: %v", failed)
	} else {
		refused(t, failed[0], "409", code)
	}
	other := with(credential("fifth"), map[string]any{"resourceName": "id-team-b"})
	if failed := overlap(create(credential("fifth")), create(other)); len(failed) != 0 {
		t.Errorf("writes on two identities: %v", failed)
	}
}

func TestRoleAssignments(t *testing.T) {
	h := newHarness(t)
	all := h.stack()
	scope, principal := string(all["account"].id), all["identity"].outputs["principalId"].StringValue()
	renamed := map[string]any{"roleAssignmentName": guid}
	_, err := h.tryCreate(azurenative.RoleAssignment, with(assignment(scope, principal), renamed))
	refused(t, err, "409", "RoleAssignmentExists")
	_, err = h.tryCreate(azurenative.RoleAssignment, with(assignment(scope, guid), map[string]any{"roleAssignmentName": guid, "principalType": nil}))
	refused(t, err, "400", "PrincipalNotFound", "principalType")
	_, err = h.tryCreate(azurenative.RoleAssignment, with(assignment(scope, principal), with(renamed, map[string]any{"principalType": "User"})))
	refused(t, err, "400", "UnmatchedPrincipalType")
	_, err = h.tryCreate(azurenative.RoleAssignment, with(assignment(scope+"x", principal), renamed))
	refused(t, err, "404", "ResourceNotFound")
	h.create(azurenative.RoleAssignment, with(assignment(scope, guid), renamed))
}

// Faults of a scenario come through the one seam.
func TestFaultSeam(t *testing.T) {
	h := newHarness(t, failing("create", azurenative.AgentPool))
	h.create(azurenative.ResourceGroup, group())
	h.create(azurenative.ManagedCluster, cluster())
	_, err := h.tryCreate(azurenative.AgentPool, pool())
	refused(t, err, "no capacity")
}
