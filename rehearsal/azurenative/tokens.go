// Package azurenative emulates the part of the azure-native provider and of
// Azure Resource Manager that the project's stack uses. It is no Azure: it
// keeps records in a file, and refuses strictly what the real service would.
package azurenative

// Version is the version of the azure-native provider that is emulated.
const Version = "2.90.0"

// The emulated resource types.
const (
	ResourceGroup               = "azure-native:resources:ResourceGroup"
	ManagedCluster              = "azure-native:containerservice/v20240901:ManagedCluster"
	AgentPool                   = "azure-native:containerservice/v20240901:AgentPool"
	StorageAccount              = "azure-native:storage:StorageAccount"
	BlobContainer               = "azure-native:storage:BlobContainer"
	BlobServiceProperties       = "azure-native:storage:BlobServiceProperties"
	UserAssignedIdentity        = "azure-native:managedidentity:UserAssignedIdentity"
	FederatedIdentityCredential = "azure-native:managedidentity:FederatedIdentityCredential"
	RoleAssignment              = "azure-native:authorization:RoleAssignment"
)
