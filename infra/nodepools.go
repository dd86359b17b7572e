package infra

import (
	"fmt"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"

	containerservice "github.com/pulumi/pulumi-azure-native-sdk/containerservice/v2/v20240901"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// upgradeSurge is how many extra nodes an upgrade may add at a time.
const upgradeSurge = "1"

func (c *Infra) newNodePools(ctx *pulumi.Context) error {
	for _, name := range c.args.Pools.Names() {
		pool, err := containerservice.NewAgentPool(ctx, c.name+"-pool-"+name, c.poolArgs(name, c.args.Pools[name]),
			pulumi.Parent(c),
			pulumi.Protect(c.args.protects(protectPool+name)),
			goesWith(c.aks),
			// The autoscaler owns the number of nodes. ARM would also refuse to set it.
			pulumi.IgnoreChanges([]string{"count"}))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.ready = append(c.ready, pool)
	}
	return nil
}

// poolArgs sets no node labels: AKS gives each node the labels of its pool and of its GPUs itself, and refuses them from others.
func (c *Infra) poolArgs(name string, p Pool) *containerservice.AgentPoolArgs {
	args := &containerservice.AgentPoolArgs{
		// Named, since Pulumi's own suffix would overrun the twelve characters that a pool's name may have.
		AgentPoolName:     pulumi.String(name),
		ResourceGroupName: c.group.Name,
		ResourceName:      c.aks.Name,
		Mode:              pulumi.String(containerservice.AgentPoolModeUser),
		Type:              pulumi.String(containerservice.AgentPoolTypeVirtualMachineScaleSets),
		OsType:            pulumi.String(containerservice.OSTypeLinux),
		// An upgrade of the cluster leaves its pools where they are.
		OrchestratorVersion: pulumi.String(c.args.Cluster.KubernetesVersion),
		VmSize:              pulumi.String(p.VMSize),
		AvailabilityZones:   p.Zones.input(),
		MaxPods:             pulumi.Int(sku.MaxPods),
		EnableAutoScaling:   pulumi.Bool(true),
		MinCount:            pulumi.Int(p.Min),
		MaxCount:            pulumi.Int(p.Max),
		Count:               pulumi.Int(p.Count),
		UpgradeSettings:     &containerservice.AgentPoolUpgradeSettingsArgs{MaxSurge: pulumi.String(upgradeSurge)},
		Tags:                c.tags(),
	}
	if c.args.hasGPUs(p) {
		args.NodeTaints = pulumi.StringArray{pulumi.String(aks.TaintString(aks.TaintGPU()))}
	}
	return args
}
