package azurenative

import (
	"reflect"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/containerservice/armcontainerservice/v6"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/storage/armstorage"
)

// enums holds the values of every enum that a model can reach; TestEnums
// proves that none is missing.
var enums = collect(
	values(armauthorization.PossiblePrincipalTypeValues),
	values(armcontainerservice.PossibleAgentPoolModeValues),
	values(armcontainerservice.PossibleAgentPoolTypeValues),
	values(armcontainerservice.PossibleBackendPoolTypeValues),
	values(armcontainerservice.PossibleCodeValues),
	values(armcontainerservice.PossibleCreatedByTypeValues),
	values(armcontainerservice.PossibleExpanderValues),
	values(armcontainerservice.PossibleExtendedLocationTypesValues),
	values(armcontainerservice.PossibleGPUInstanceProfileValues),
	values(armcontainerservice.PossibleIPFamilyValues),
	values(armcontainerservice.PossibleIstioIngressGatewayModeValues),
	values(armcontainerservice.PossibleKeyVaultNetworkAccessTypesValues),
	values(armcontainerservice.PossibleKubeletDiskTypeValues),
	values(armcontainerservice.PossibleKubernetesSupportPlanValues),
	values(armcontainerservice.PossibleLicenseTypeValues),
	values(armcontainerservice.PossibleLoadBalancerSKUValues),
	values(armcontainerservice.PossibleManagedClusterPodIdentityProvisioningStateValues),
	values(armcontainerservice.PossibleManagedClusterSKUNameValues),
	values(armcontainerservice.PossibleManagedClusterSKUTierValues),
	values(armcontainerservice.PossibleNetworkDataplaneValues),
	values(armcontainerservice.PossibleNetworkModeValues),
	values(armcontainerservice.PossibleNetworkPluginValues),
	values(armcontainerservice.PossibleNetworkPluginModeValues),
	values(armcontainerservice.PossibleNetworkPolicyValues),
	values(armcontainerservice.PossibleNodeOSUpgradeChannelValues),
	values(armcontainerservice.PossibleOSDiskTypeValues),
	values(armcontainerservice.PossibleOSSKUValues),
	values(armcontainerservice.PossibleOSTypeValues),
	values(armcontainerservice.PossibleOutboundTypeValues),
	values(armcontainerservice.PossibleProtocolValues),
	values(armcontainerservice.PossiblePublicNetworkAccessValues),
	values(armcontainerservice.PossibleResourceIdentityTypeValues),
	values(armcontainerservice.PossibleRestrictionLevelValues),
	values(armcontainerservice.PossibleScaleDownModeValues),
	values(armcontainerservice.PossibleScaleSetEvictionPolicyValues),
	values(armcontainerservice.PossibleScaleSetPriorityValues),
	values(armcontainerservice.PossibleServiceMeshModeValues),
	values(armcontainerservice.PossibleUpgradeChannelValues),
	values(armcontainerservice.PossibleWorkloadRuntimeValues),
	values(armmsi.PossibleCreatedByTypeValues),
	values(armstorage.PossibleAccessTierValues),
	values(armstorage.PossibleAccountImmutabilityPolicyStateValues),
	values(armstorage.PossibleActiveDirectoryPropertiesAccountTypeValues),
	values(armstorage.PossibleAllowedCopyScopeValues),
	values(armstorage.PossibleBypassValues),
	values(armstorage.PossibleCorsRuleAllowedMethodsItemValues),
	values(armstorage.PossibleDNSEndpointTypeValues),
	values(armstorage.PossibleDefaultActionValues),
	values(armstorage.PossibleDefaultSharePermissionValues),
	values(armstorage.PossibleDirectoryServiceOptionsValues),
	values(armstorage.PossibleExpirationActionValues),
	values(armstorage.PossibleExtendedLocationTypesValues),
	values(armstorage.PossibleIdentityTypeValues),
	values(armstorage.PossibleImmutabilityPolicyStateValues),
	values(armstorage.PossibleImmutabilityPolicyUpdateTypeValues),
	values(armstorage.PossibleKeySourceValues),
	values(armstorage.PossibleKeyTypeValues),
	values(armstorage.PossibleKindValues),
	values(armstorage.PossibleLargeFileSharesStateValues),
	values(armstorage.PossibleLeaseDurationValues),
	values(armstorage.PossibleLeaseStateValues),
	values(armstorage.PossibleLeaseStatusValues),
	values(armstorage.PossibleMigrationStateValues),
	values(armstorage.PossibleMinimumTLSVersionValues),
	values(armstorage.PossibleNameValues),
	values(armstorage.PossiblePublicAccessValues),
	values(armstorage.PossiblePublicNetworkAccessValues),
	values(armstorage.PossibleRoutingChoiceValues),
	values(armstorage.PossibleSKUNameValues),
	values(armstorage.PossibleSKUTierValues),
	values(armstorage.PossibleStateValues),
)

// enum is one enum type of Microsoft's SDK with the values that it lists.
type enum struct {
	typ    reflect.Type
	values []string
}

func values[T ~string](possible func() []T) enum {
	listed := enum{typ: reflect.TypeFor[T]()}
	for _, value := range possible() {
		listed.values = append(listed.values, string(value))
	}
	return listed
}

func collect(listed ...enum) map[reflect.Type][]string {
	all := make(map[reflect.Type][]string, len(listed))
	for _, one := range listed {
		all[one.typ] = one.values
	}
	return all
}
