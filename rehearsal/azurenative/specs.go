package azurenative

import (
	"strings"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"ray-on-aks/rehearsal/provider"
)

const (
	groupID    = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"
	clusterID  = groupID + "/providers/Microsoft.ContainerService/managedClusters/{resourceName}"
	accountID  = groupID + "/providers/Microsoft.Storage/storageAccounts/{accountName}"
	identityID = groupID + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{resourceName}"
)

// specs are the emulated types. What replaces a resource is what ARM refuses
// to change in place.
var specs = map[string]spec{
	ResourceGroup: {
		armType: "Microsoft.Resources/resourceGroups", id: groupID, nameKey: "resourceGroupName",
		replaceOn: []string{"location", "managedBy"},
		names:     map[string]nameRule{"resourceGroupName": resourceGroupRule},
	},
	ManagedCluster: {
		armType: "Microsoft.ContainerService/managedClusters", id: clusterID, parent: groupID, nameKey: "resourceName",
		replaceOn: []string{"location", "dnsPrefix", "fqdnSubdomain", "nodeResourceGroup", "diskEncryptionSetID",
			"networkProfile.networkPlugin", "networkProfile.serviceCidr", "networkProfile.dnsServiceIP",
			"networkProfile.podCidr", "apiServerAccessProfile.enablePrivateCluster"},
		names: map[string]nameRule{"resourceName": clusterRule, "dnsPrefix": dnsPrefixRule, "nodeResourceGroup": nodeResourceGroupRule,
			"kubernetesVersion": versionRule},
		reshaped: []string{"identity", "agentPoolProfiles"},
		extra:    checkCluster, outputs: clusterOutputs, allow: allowCluster,
	},
	AgentPool: {
		armType: "Microsoft.ContainerService/managedClusters/agentPools",
		id:      clusterID + "/agentPools/{agentPoolName}", parent: clusterID, nameKey: "agentPoolName",
		// Among the outputs `type` is the ARM type; the pool's own is
		// typePropertiesType.
		hidden:    []string{"type"},
		replaceOn: poolImmutable,
		names:     map[string]nameRule{"agentPoolName": agentPoolRule},
		extra:     func(in map[string]any) []provider.Problem { return checkPool("", in) },
		outputs:   poolOutputs, allow: allowPool, allowDelete: allowPoolDelete,
	},
	StorageAccount: {
		armType: "Microsoft.Storage/storageAccounts", id: accountID, parent: groupID, nameKey: "accountName",
		autoName: func(logical string, seed []byte) (string, error) {
			// A storage account's name has no hyphens and at most 24 characters.
			base := storageAccountRule.fix(logical)
			return resource.NewUniqueName(seed, base[:min(len(base), 16)], 8, 24, nil)
		},
		replaceOn: []string{"location", "kind", "isHnsEnabled", "enableNfsV3", "dnsEndpointType",
			"extendedLocation", "encryption.requireInfrastructureEncryption", "immutableStorageWithVersioning"},
		names:   map[string]nameRule{"accountName": storageAccountRule},
		outputs: accountOutputs, allow: allowAccount,
	},
	BlobContainer: {
		armType: "Microsoft.Storage/storageAccounts/blobServices/containers",
		id:      accountID + "/blobServices/default/containers/{containerName}", parent: accountID, nameKey: "containerName",
		replaceOn: []string{"defaultEncryptionScope", "denyEncryptionScopeOverride"},
		names:     map[string]nameRule{"accountName": storageAccountRule, "containerName": containerRule},
		outputs:   containerOutputs, allow: allowContainer,
	},
	BlobServiceProperties: {
		armType: "Microsoft.Storage/storageAccounts/blobServices",
		id:      accountID + "/blobServices/{blobServicesName}", parent: accountID, nameKey: "blobServicesName",
		autoName:  func(string, []byte) (string, error) { return "default", nil },
		names:     map[string]nameRule{"accountName": storageAccountRule, "blobServicesName": blobServicesRule},
		singleton: true,
	},
	UserAssignedIdentity: {
		armType: "Microsoft.ManagedIdentity/userAssignedIdentities", id: identityID, parent: groupID, nameKey: "resourceName",
		replaceOn: []string{"location"},
		names:     map[string]nameRule{"resourceName": identityRule},
		outputs:   identityOutputs,
	},
	FederatedIdentityCredential: {
		armType: "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials",
		id:      identityID + "/federatedIdentityCredentials/{federatedIdentityCredentialResourceName}",
		parent:  identityID, nameKey: "federatedIdentityCredentialResourceName",
		names: map[string]nameRule{"federatedIdentityCredentialResourceName": credentialRule, "issuer": issuerRule},
		extra: checkCredential, allow: allowCredential,
		exclusive: func(id string) string {
			identity, _, _ := strings.Cut(id, "/federatedIdentityCredentials/")
			return strings.ToLower(identity)
		},
	},
	RoleAssignment: {
		armType: "Microsoft.Authorization/roleAssignments",
		id:      "{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}", nameKey: "roleAssignmentName",
		autoName: func(_ string, seed []byte) (string, error) {
			return uuid.NewSHA1(uuid.NameSpaceURL, seed).String(), nil
		},
		replaceOn: []string{"principalId", "principalType", "roleDefinitionId", "delegatedManagedIdentityResourceId"},
		names:     map[string]nameRule{"roleAssignmentName": guidRule, "principalId": guidRule, "roleDefinitionId": roleDefinitionRule},
		outputs:   assignmentOutputs, allow: allowAssignment,
	},
}

// poolImmutable are the properties of a pool that AKS does not change in
// place, standalone or inline.
var poolImmutable = []string{"vmSize", "availabilityZones", "osDiskSizeGB", "osDiskType", "osType", "maxPods",
	"gpuInstanceProfile", "scaleSetPriority", "scaleSetEvictionPolicy", "vnetSubnetID", "podSubnetID", "enableFIPS",
	"enableEncryptionAtHost", "enableUltraSSD", "enableNodePublicIP", "nodePublicIPPrefixID", "kubeletDiskType",
	"kubeletConfig", "linuxOSConfig", "proximityPlacementGroupID", "hostGroupID", "capacityReservationGroupID",
	"type", "workloadRuntime", "creationData"}
