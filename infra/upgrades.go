package infra

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/util/version"
)

// upgradePath is asked at preview and before an update whether AKS would take the cluster from its version to the one that is asked for. Only
// the engine knows the first.
func (c *Infra) upgradePath(ctx *pulumi.Context) (pulumi.ResourceOption, error) {
	name := c.name + "-kubernetes-upgrade-path"
	hook, err := ctx.RegisterResourceHook(name, func(args *pulumi.ResourceHookArgs) error {
		return checkUpgrade(textOf(args.OldOutputs, "currentKubernetesVersion"), textOf(args.NewInputs, "kubernetesVersion"))
	}, &pulumi.ResourceHookOptions{OnDryRun: true})
	if err != nil {
		return nil, fmt.Errorf("registering the hook %s: %w", name, err)
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{BeforeUpdate: []*pulumi.ResourceHook{hook}}), nil
}

// checkUpgrade refuses what AKS refuses: an older version, and one that skips a minor. Either may be a minor alone, which is any patch of it.
// https://learn.microsoft.com/azure/aks/upgrade-aks-cluster
func checkUpgrade(from, to string) error {
	old, err := version.ParseGeneric(from)
	wanted, err2 := version.ParseGeneric(to)
	if err != nil || err2 != nil || old.Major() != wanted.Major() {
		return nil //nolint:nilerr // the cluster does not say which it has, or AKS will say what it thinks of that
	}
	const key, stale = "infra.cluster.kubernetesVersion: ", "; if it was upgraded elsewhere, run pulumi refresh first"
	patches := len(old.Components()) > 2 && len(wanted.Components()) > 2
	switch {
	case wanted.Minor() > old.Minor()+1:
		return fmt.Errorf(key+"AKS upgrades one minor at a time, and the cluster has %s: set %d.%d before %s"+stale, from, old.Major(), old.Minor()+1, to)
	case wanted.Minor() < old.Minor(), wanted.Minor() == old.Minor() && patches && wanted.Patch() < old.Patch():
		return fmt.Errorf(key+"AKS never goes back, and the cluster has %s already: got %s; set %d.%d, which is any patch of it", from, to, old.Major(), old.Minor())
	}
	return nil
}

func textOf(properties resource.PropertyMap, key resource.PropertyKey) string {
	if value := properties[key]; value.IsString() {
		return value.StringValue()
	}
	return ""
}
