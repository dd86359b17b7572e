package aks

import "strings"

// NamespacePrefix begins the namespace of a team that names none.
const NamespacePrefix = "ray-"

// soloNamespace is the default namespace where there are no teams.
const soloNamespace = "ray"

// TenantHandle is what a tenant's resources are called by, in the engine's state and in Azure: its namespace, or what comes after NamespacePrefix,
// which is the name of a team that names no namespace. No two namespaces have the same.
//
// It is not the tenant's name, since a tenant that is renamed and keeps its namespace keeps what lies in it. Called by the tenant's name, an
// object in the namespace would be made under its new logical name, which takes over the live one, and then be deleted under the old.
func TenantHandle(namespace string) string {
	handle, prefixed := strings.CutPrefix(namespace, NamespacePrefix)
	switch {
	case namespace == soloNamespace:
		return namespace
	case prefixed && handle != soloNamespace:
		return handle
	}
	return namespace + "_" // which no team's name ends in
}
