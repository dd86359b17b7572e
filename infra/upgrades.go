package infra

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const upgradePathHook = "kubernetes-upgrade-path"

// upgradePath is asked at preview and before an update whether AKS would take the cluster from its version to the one that is asked for. Only
// the engine knows the first.
func upgradePath(ctx *pulumi.Context) (pulumi.ResourceOption, error) {
	hook, err := ctx.RegisterResourceHook(upgradePathHook, func(args *pulumi.ResourceHookArgs) error {
		return checkUpgrade(textOf(args.OldOutputs, "currentKubernetesVersion"), textOf(args.NewInputs, "kubernetesVersion"))
	}, &pulumi.ResourceHookOptions{OnDryRun: true})
	if err != nil {
		return nil, fmt.Errorf("registering the hook %s: %w", upgradePathHook, err)
	}
	return pulumi.ResourceHooks(&pulumi.ResourceHookBinding{BeforeUpdate: []*pulumi.ResourceHook{hook}}), nil
}

// checkUpgrade refuses what AKS refuses: an older version, and one that skips a minor. Either may be a minor alone, which is any patch of it.
// https://learn.microsoft.com/azure/aks/upgrade-aks-cluster
func checkUpgrade(from, to string) error {
	const key = "infra.cluster.kubernetesVersion: "
	old, wanted := numbers(from), numbers(to)
	if len(old) < 2 || len(wanted) < 2 || old[0] != wanted[0] {
		return nil // the cluster does not say which it has, or AKS will say what it thinks of that
	}
	switch {
	case wanted[1] > old[1]+1:
		return fmt.Errorf(key+"AKS upgrades one minor at a time, and the cluster has %s: set %d.%d before %s", from, old[0], old[1]+1, to)
	case wanted[1] < old[1], wanted[1] == old[1] && len(old) > 2 && len(wanted) > 2 && wanted[2] < old[2]:
		return fmt.Errorf(key+"AKS never goes back, and the cluster has %s already: got %s; set %d.%d, which is any patch of it", from, to, old[0], old[1])
	}
	return nil
}

// numbers are those of a version.
func numbers(version string) []int {
	var all []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

func textOf(properties resource.PropertyMap, key resource.PropertyKey) string {
	if value := properties[key]; value.IsString() {
		return value.StringValue()
	}
	return ""
}
