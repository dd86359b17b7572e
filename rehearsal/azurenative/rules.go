package azurenative

import (
	"strings"

	"ray-on-aks/rehearsal/cloud"
)

// maxCredentials is Azure's limit of federated credentials per identity.
const maxCredentials = 20

// allowAccount refuses a storage account whose name another group has: the
// names are global.
func allowAccount(w write) error {
	for id, record := range w.resources {
		if record.Type == StorageAccount && id != w.id && lastSegment(id) == lastSegment(w.id) {
			return conflict("StorageAccountAlreadyTaken", "The storage account named %s is already taken.", lastSegment(w.id))
		}
	}
	return nil
}

// allowContainer refuses anonymous access that the account forbids.
func allowContainer(w write) error {
	account, _, _ := find(w.resources, w.id[:strings.Index(w.id, "/blobServices/")])
	access := text(w.inputs, "publicAccess")
	if access != "" && access != "None" && account.Outputs["allowBlobPublicAccess"] != true {
		return conflict("PublicAccessNotPermitted", "Public access is not permitted on storage account %s.", text(account.Outputs, "name"))
	}
	return nil
}

// allowCredential refuses a pair of issuer and subject that the identity has
// already, and one credential too many.
func allowCredential(w write) error {
	identity, _, _ := strings.Cut(w.id, "/federatedIdentityCredentials/")
	others := 0
	for _, id := range below(w.resources, identity) {
		record := w.resources[id]
		if record.Type != FederatedIdentityCredential || strings.EqualFold(id, w.id) {
			continue
		}
		others++
		if record.Outputs["issuer"] == w.inputs["issuer"] && record.Outputs["subject"] == w.inputs["subject"] {
			return conflict("Conflict", "Issuer and subject combination already exists for this Managed Identity, in credential %s.", lastSegment(id))
		}
	}
	if others >= maxCredentials {
		return badRequest("BadRequest", "Too many Federated Identity Credentials: managed identity %s has %d, the most there can be.",
			lastSegment(identity), maxCredentials)
	}
	return nil
}

// allowAssignment refuses a role assignment for nobody, for the wrong kind of
// principal, on nothing, or for the second time.
func allowAssignment(w write) error {
	scope := strings.TrimSuffix(text(w.inputs, "scope"), "/")
	if !scopeExists(w.resources, scope) {
		return notFound("ResourceNotFound", "The scope %s of the role assignment was not found.", scope)
	}
	principal, kind := text(w.inputs, "principalId"), text(w.inputs, "principalType")
	known := isIdentity(w.resources, principal)
	switch {
	case known && kind != "" && kind != "ServicePrincipal":
		return badRequest("UnmatchedPrincipalType", "The PrincipalId %s has type ServicePrincipal, which is different from the specified PrincipalType %s.", principal, kind)
	case !known && kind != "ServicePrincipal":
		return badRequest("PrincipalNotFound", "Principal %s does not exist in the directory. If it was created just now, set principalType to ServicePrincipal, so that replication need not be waited for.", principal)
	}
	for id, record := range w.resources {
		if record.Type != RoleAssignment || strings.EqualFold(id, w.id) {
			continue
		}
		if strings.EqualFold(text(record.Outputs, "scope"), scope) && record.Outputs["principalId"] == principal &&
			strings.EqualFold(lastSegment(text(record.Outputs, "roleDefinitionId")), lastSegment(text(w.inputs, "roleDefinitionId"))) {
			return conflict("RoleAssignmentExists", "The role assignment already exists. Its id is %s.", id)
		}
	}
	return nil
}

// scopeExists accepts every scope that is not a resource of the emulated
// cloud: subscriptions and management groups always exist.
func scopeExists(resources cloud.Resources, scope string) bool {
	if !strings.Contains(strings.ToLower(scope), "/resourcegroups/") {
		return true
	}
	_, _, ok := find(resources, scope)
	return ok
}

// isIdentity says whether an identity of the emulated cloud is the principal.
func isIdentity(resources cloud.Resources, principal string) bool {
	for _, record := range resources {
		switch record.Type {
		case UserAssignedIdentity:
			if record.Outputs["principalId"] == principal {
				return true
			}
		case ManagedCluster:
			kubelet := object(object(record.Outputs, "identityProfile"), "kubeletidentity")
			if kubelet["objectId"] == principal || object(record.Outputs, "identity")["principalId"] == principal {
				return true
			}
		}
	}
	return false
}
