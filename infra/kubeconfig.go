package infra

import (
	"encoding/base64"
	"errors"
	"fmt"

	containerservice "github.com/pulumi/pulumi-azure-native-sdk/containerservice/v2/v20240901"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"
)

// newKubernetesProvider makes the provider for everything inside the cluster from the cluster's own user credentials.
func (c *Infra) newKubernetesProvider(ctx *pulumi.Context) error {
	credentials := containerservice.ListManagedClusterUserCredentialsOutput(ctx, containerservice.ListManagedClusterUserCredentialsOutputArgs{
		ResourceGroupName: c.group.Name,
		ResourceName:      c.aks.Name,
	}, pulumi.Parent(c))
	login := c.args.Cluster.Login
	kubeconfig := credentials.ApplyT(func(r containerservice.ListManagedClusterUserCredentialsResult) (string, error) {
		return decodeKubeconfig(r, login)
	}).(pulumi.StringOutput)
	c.Kubeconfig = pulumi.ToSecret(kubeconfig).(pulumi.StringOutput)

	provider, err := Connect(ctx, c.name+"-kubernetes", c.Kubeconfig, c.args.ClusterID(), pulumi.Parent(c), pulumi.DeletedWith(c.aks))
	if err != nil {
		return err
	}
	c.Kubernetes = provider
	return nil
}

// Connect makes a provider for what is inside a cluster. clusterID is the ClusterID of the stack that made it.
func Connect(ctx *pulumi.Context, name string, kubeconfig pulumi.StringInput, clusterID string, opts ...pulumi.ResourceOption) (*kubernetes.Provider, error) {
	return kubernetes.NewProvider(ctx, name, &kubernetes.ProviderArgs{
		Kubeconfig: kubeconfig,
		// Without it the provider guesses from the kubeconfig whether the cluster is another one, and a rotated credential
		// can replace every object. The id is written from plain names, so it is never unknown.
		ClusterIdentifier:     pulumi.String(clusterID),
		EnableServerSideApply: pulumi.Bool(true),
	}, opts...)
}

func decodeKubeconfig(r containerservice.ListManagedClusterUserCredentialsResult, login Login) (string, error) {
	if len(r.Kubeconfigs) == 0 {
		return "", errors.New("AKS returned no user credentials: may the caller list them (role Azure Kubernetes Service Cluster User)?")
	}
	raw, err := base64.StdEncoding.DecodeString(r.Kubeconfigs[0].Value)
	if err != nil {
		return "", fmt.Errorf("decoding the kubeconfig: %w", err)
	}
	return withLogin(string(raw), login)
}

// withLogin makes kubelogin log in without a browser. The kubeconfig of a cluster without local accounts asks for a device code,
// which nobody can type in a pipeline; one with local accounts has no exec plugin and is returned as it is.
func withLogin(kubeconfig string, login Login) (string, error) {
	var config map[string]any
	if err := yaml.Unmarshal([]byte(kubeconfig), &config); err != nil {
		return "", fmt.Errorf("parsing the kubeconfig: %w", err)
	}
	users, _ := config["users"].([]any)
	changed := false
	for _, u := range users {
		entry, _ := u.(map[string]any)
		user, _ := entry["user"].(map[string]any)
		exec, _ := user["exec"].(map[string]any)
		if exec == nil {
			continue
		}
		args, _ := exec["args"].([]any)
		exec["args"] = setFlag(args, "--login", string(login))
		changed = true
	}
	if !changed {
		return kubeconfig, nil
	}
	out, err := yaml.Marshal(config)
	return string(out), err
}

// setFlag replaces the value that follows flag, or appends both.
func setFlag(args []any, flag, value string) []any {
	for i, a := range args {
		if a == flag && i+1 < len(args) {
			args[i+1] = value
			return args
		}
	}
	return append(args, flag, value)
}
