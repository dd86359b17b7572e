package azurenative_test

import (
	"fmt"
	"testing"

	"ray-on-aks/rehearsal/azurenative"
)

// Several tenants share an account: an identity each, with a credential and a
// role of its own, and containers that all of them mount.
func TestSeveralTenantsShareAnAccount(t *testing.T) {
	h := newHarness(t)
	h.create(azurenative.ResourceGroup, group())
	scope := string(h.create(azurenative.StorageAccount, account()).id)
	for _, name := range []string{"aurora", "llm-pipeline", "models"} {
		h.create(azurenative.BlobContainer, with(container(), map[string]any{"containerName": name}))
	}
	principals := map[string]bool{}
	for i, team := range []string{"id-team-a", "id-team-b", "id-team-c"} {
		of := h.create(azurenative.UserAssignedIdentity, with(identity(), map[string]any{"resourceName": team}))
		principal := of.outputs["principalId"].StringValue()
		principals[principal] = true
		// The same issuer and subject at another identity is no conflict.
		h.create(azurenative.FederatedIdentityCredential, with(credential("ray"), map[string]any{"resourceName": team}))
		named := map[string]any{"roleAssignmentName": fmt.Sprintf("6f0e9f8c-3e83-5d0e-9f0b-%012d", i)}
		h.create(azurenative.RoleAssignment, with(assignment(scope, principal), named))
		named["roleAssignmentName"] = fmt.Sprintf("6f0e9f8c-3e83-5d0e-9f0c-%012d", i)
		_, err := h.tryCreate(azurenative.RoleAssignment, with(assignment(scope, principal), named))
		refused(t, err, "409", "RoleAssignmentExists")
		// Another role of the same principal is one more assignment.
		const reader = "/subscriptions/s/providers/Microsoft.Authorization/roleDefinitions/2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"
		h.create(azurenative.RoleAssignment, with(assignment(scope, principal), with(named, map[string]any{"roleDefinitionId": reader})))
	}
	if len(principals) != 3 {
		t.Errorf("three identities have %d principals", len(principals))
	}
}

// A credential is updated in place, and an update is a write like another.
func TestAnUpdateOfACredentialIsAWriteToo(t *testing.T) {
	h := newHarness(t, func(o *azurenative.Options) { o.CredentialHold = hold })
	h.create(azurenative.ResourceGroup, group())
	h.create(azurenative.UserAssignedIdentity, identity())
	first := h.create(azurenative.FederatedIdentityCredential, credential("first"))
	errs := make(chan error, 2)
	go func() {
		_, err := h.update(first, properties(with(credential("first"), map[string]any{"issuer": "https://oidc.example/new/"})))
		errs <- err
	}()
	go func() {
		_, err := h.provider.Create(t.Context(), createRequest(azurenative.FederatedIdentityCredential, credential("second")))
		errs <- err
	}()
	one, two := <-errs, <-errs
	if (one == nil) == (two == nil) {
		t.Fatalf("an update and a create at once: %v and %v, want one refusal", one, two)
	}
	if one == nil {
		one = two
	}
	refused(t, one, "409", "ConcurrentFederatedIdentityCredentialsWritesForSingleManagedIdentity")
}
