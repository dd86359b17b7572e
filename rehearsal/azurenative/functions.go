package azurenative

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/provider"
)

// functions are the emulated invokes.
func (e *emulator) functions() map[string]provider.Function {
	return map[string]provider.Function{
		"azure-native:containerservice/v20240901:listManagedClusterUserCredentials": e.credentials,
		"azure-native:containerservice:listManagedClusterUserCredentials":           e.credentials,
		"azure-native:authorization:getClientConfig":                                e.clientConfig,
	}
}

// credentials answers the kubeconfig of the cluster's real control plane.
func (e *emulator) credentials(ctx context.Context, args map[string]any) (map[string]any, error) {
	if err := known(args, "format", "resourceGroupName", "resourceName", "serverFqdn"); err != nil {
		return nil, fmt.Errorf("listing a cluster's credentials: %w", err)
	}
	id, err := e.config.fill(clusterID, args)
	if err != nil {
		return nil, err
	}
	err = e.store.View(func(resources cloud.Resources) error {
		if record, _, ok := find(resources, id); !ok || record.Type != ManagedCluster {
			return missing(id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// After a restart of the supervisor the control plane is a moment away.
	if err := e.options.Waiter.Ready(ctx, lastSegment(id)); err != nil {
		return nil, err
	}
	kubeconfig, err := os.ReadFile(kubeconfigPath(e.options.Dir, lastSegment(id)))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of cluster %s: %w", lastSegment(id), err)
	}
	return map[string]any{"kubeconfigs": []any{map[string]any{
		"name": "clusterUser", "value": base64.StdEncoding.EncodeToString(kubeconfig)}}}, nil
}

func (e *emulator) clientConfig(_ context.Context, args map[string]any) (map[string]any, error) {
	if err := known(args); err != nil {
		return nil, fmt.Errorf("getting the client's configuration: %w", err)
	}
	return map[string]any{
		"clientId": "00000000-0000-4000-8000-00000000e119", "objectId": "00000000-0000-4000-8000-00000000e11a",
		"subscriptionId": e.config.subscription, "tenantId": e.config.tenant,
	}, nil
}

// known refuses arguments that a function does not have.
func known(args map[string]any, names ...string) error {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(names, name) {
			unknown = append(unknown, fmt.Sprintf("%s is no argument%s", name, suggest(name, names)))
		}
	}
	if len(unknown) > 0 {
		return errors.New(strings.Join(unknown, "; "))
	}
	return nil
}
