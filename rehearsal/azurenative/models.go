package azurenative

import (
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage"
)

// models names the request body of each type in Microsoft's SDK. The modules
// are pinned to the API version that azure-native 2.90.0 uses for the type:
//
//	type                           azure-native   module                      its API version
//	ManagedCluster, AgentPool      2024-09-01     armcontainerservice v6.3.0  2024-09-01
//	StorageAccount, Blob…          2022-09-01     armstorage v1.3.0           2022-09-01
//	identities and credentials     2023-01-31     armmsi v1.2.0               2023-01-31
//	RoleAssignment                 2022-04-01     armauthorization v2.2.0     2022-04-01
//	ResourceGroup                  2022-09-01     armresources v1.2.0         2021-04-01
//
// The last is the nearest that there is; a resource group is the same in both.
var models = map[string]reflect.Type{
	ResourceGroup:               reflect.TypeFor[armresources.ResourceGroup](),
	ManagedCluster:              reflect.TypeFor[armcontainerservice.ManagedCluster](),
	AgentPool:                   reflect.TypeFor[armcontainerservice.AgentPool](),
	StorageAccount:              reflect.TypeFor[armstorage.AccountCreateParameters](),
	BlobContainer:               reflect.TypeFor[armstorage.BlobContainer](),
	BlobServiceProperties:       reflect.TypeFor[armstorage.BlobServiceProperties](),
	UserAssignedIdentity:        reflect.TypeFor[armmsi.Identity](),
	FederatedIdentityCredential: reflect.TypeFor[armmsi.FederatedIdentityCredential](),
	RoleAssignment:              reflect.TypeFor[armauthorization.RoleAssignmentCreateParameters](),
}
