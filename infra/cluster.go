package infra

import (
	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"

	containerservice "github.com/pulumi/pulumi-azure-native-sdk/containerservice/v2/v20240901"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const systemPoolName = "system"

// The cluster's address ranges. Pods have an overlay of their own, so neither range has to be free in any network; 10.244.0.0/16
// holds 256 nodes of 256 addresses.
const (
	podCIDR      = "10.244.0.0/16"
	serviceCIDR  = "10.0.0.0/16"
	dnsServiceIP = "10.0.0.10"
	// maxClusterNodes is how many /24 ranges podCIDR has: AKS gives one to each node.
	maxClusterNodes = 256
	// maxPoolNodes is how many are left for one pool beside a node of the system pool and the one that an upgrade adds. AKS itself allows
	// sku.MaxNodes.
	maxPoolNodes = maxClusterNodes - 2
)

func (c *Infra) newCluster(ctx *pulumi.Context) error {
	upgrades, err := c.upgradePath(ctx)
	if err != nil {
		return err
	}
	cluster, err := containerservice.NewManagedCluster(ctx, c.name+"-cluster", c.clusterArgs(), pulumi.Parent(c), upgrades,
		pulumi.Protect(c.args.protects(protectCluster)), pulumi.DeleteBeforeReplace(true))
	if err != nil {
		return err
	}
	c.aks, c.ClusterName = cluster, cluster.Name
	c.OIDCIssuerURL = cluster.OidcIssuerProfile.IssuerURL().Elem()
	return nil
}

func (c *Infra) clusterArgs() *containerservice.ManagedClusterArgs {
	a := c.args
	args := &containerservice.ManagedClusterArgs{
		ResourceName:      pulumi.String(a.clusterName()),
		ResourceGroupName: c.group.Name,
		Location:          pulumi.String(a.Location),
		Tags:              c.tags(),
		DnsPrefix:         pulumi.String(a.Name),
		KubernetesVersion: pulumi.String(a.Cluster.KubernetesVersion),
		EnableRBAC:        pulumi.Bool(true),
		Identity: &containerservice.ManagedClusterIdentityArgs{
			Type: containerservice.ResourceIdentityTypeSystemAssigned,
		},
		Sku: &containerservice.ManagedClusterSKUArgs{
			Name: pulumi.String(containerservice.ManagedClusterSKUNameBase),
			Tier: pulumi.String(a.Cluster.Tier),
		},
		DisableLocalAccounts: pulumi.Bool(a.Cluster.DisableLocalAccounts),
		OidcIssuerProfile:    &containerservice.ManagedClusterOIDCIssuerProfileArgs{Enabled: pulumi.Bool(true)},
		SecurityProfile: &containerservice.ManagedClusterSecurityProfileArgs{
			WorkloadIdentity: &containerservice.ManagedClusterSecurityProfileWorkloadIdentityArgs{Enabled: pulumi.Bool(true)},
		},
		StorageProfile: &containerservice.ManagedClusterStorageProfileArgs{
			BlobCSIDriver: &containerservice.ManagedClusterStorageProfileBlobCSIDriverArgs{Enabled: pulumi.Bool(true)},
		},
		NetworkProfile: &containerservice.ContainerServiceNetworkProfileArgs{
			NetworkPlugin:     pulumi.String(containerservice.NetworkPluginAzure),
			NetworkPluginMode: pulumi.String(containerservice.NetworkPluginModeOverlay),
			LoadBalancerSku:   pulumi.String(containerservice.LoadBalancerSkuStandard),
			PodCidr:           pulumi.String(podCIDR),
			ServiceCidr:       pulumi.String(serviceCIDR),
			DnsServiceIP:      pulumi.String(dnsServiceIP),
		},
		AgentPoolProfiles: containerservice.ManagedClusterAgentPoolProfileArray{c.systemPool()},
	}
	if a.Cluster.DisableLocalAccounts {
		// AKS refuses to disable local accounts unless Entra is there to take their place.
		entra := &containerservice.ManagedClusterAADProfileArgs{Managed: pulumi.Bool(true), EnableAzureRBAC: pulumi.Bool(true)}
		if len(a.Cluster.AdminGroups) > 0 {
			entra.AdminGroupObjectIDs = pulumi.ToStringArray(a.Cluster.AdminGroups)
		}
		args.AadProfile = entra
	}
	return args
}

// systemPool is the one inline pool. AKS needs one at creation; all others are AgentPools of their own, because every change to an
// inline pool makes AKS reconcile all pools of the cluster (pulumi-azure-native#4264).
func (c *Infra) systemPool() containerservice.ManagedClusterAgentPoolProfileArgs {
	return containerservice.ManagedClusterAgentPoolProfileArgs{
		Name:   pulumi.String(systemPoolName),
		Mode:   pulumi.String(containerservice.AgentPoolModeSystem),
		Type:   pulumi.String(containerservice.AgentPoolTypeVirtualMachineScaleSets),
		OsType: pulumi.String(containerservice.OSTypeLinux),
		// As the other pools: an upgrade is one of the whole cluster.
		OrchestratorVersion: pulumi.String(c.args.Cluster.KubernetesVersion),
		VmSize:              pulumi.String(c.args.Cluster.System.VMSize),
		Count:               pulumi.Int(c.args.Cluster.System.Count),
		MaxPods:             pulumi.Int(sku.MaxPods),
		NodeTaints:          pulumi.StringArray{pulumi.String(aks.TaintString(aks.TaintSystem()))},
		AvailabilityZones:   c.args.Cluster.System.Zones.input(),
	}
}
