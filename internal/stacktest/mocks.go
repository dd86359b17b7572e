package stacktest

import (
	"encoding/base64"
	"fmt"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// What the recorder answers where Azure would; tests look for these values.
const (
	// Kubeconfig is the cluster's kubeconfig.
	Kubeconfig = "apiVersion: v1\nkind: Config\nusers: [{name: u, user: {token: not-a-secret}}]\n"
	// ClientID is the client id of every identity.
	ClientID = "11111111-1111-1111-1111-111111111111"
	// PrincipalID is the principal id of every identity.
	PrincipalID = "22222222-2222-2222-2222-222222222222"
	// Suffix is every random string.
	Suffix = "abcd1234"
	// IssuerURL is the cluster's token issuer.
	IssuerURL = "https://oidc.example/issuer/"
)

type mocks struct {
	preview bool

	mu        sync.Mutex
	resources []Resource
}

// NewResource records a registration. The program registers concurrently.
func (m *mocks) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	rpc := args.RegisterRPC
	r := Resource{
		Type: args.TypeToken, Name: args.Name, Inputs: args.Inputs, Provider: args.Provider, Custom: args.Custom,
		Parent: rpc.GetParent(), DeletedWith: rpc.GetDeletedWith(), Dependencies: rpc.GetDependencies(),
		IgnoreChanges: rpc.GetIgnoreChanges(), Protect: rpc.GetProtect(), RetainOnDelete: rpc.GetRetainOnDelete(),
		ErrorHooks: rpc.GetHooks().GetOnError(),
	}
	m.mu.Lock()
	m.resources = append(m.resources, r)
	m.mu.Unlock()

	outputs := args.Inputs.Copy()
	for key, value := range computed(args.TypeToken, args.Inputs) {
		// Names stay known. The cluster's would make the kubeconfig an unknown secret, which the SDK's mocks cannot carry.
		if m.preview && key != "name" {
			value = resource.MakeComputed(resource.NewProperty(""))
		}
		outputs[key] = value
	}
	if m.preview {
		return "", outputs, nil
	}
	return args.Name + "-id", outputs, nil
}

// computed returns what the provider adds to a resource's inputs.
func computed(token string, in resource.PropertyMap) resource.PropertyMap {
	text := func(s string) resource.PropertyValue { return resource.NewProperty(s) }
	switch token {
	case "azure-native:resources:ResourceGroup":
		return resource.PropertyMap{"name": in["resourceGroupName"]}
	case "azure-native:containerservice/v20240901:ManagedCluster":
		return resource.PropertyMap{"name": in["resourceName"], "oidcIssuerProfile": resource.NewProperty(resource.PropertyMap{
			"enabled": resource.NewProperty(true), "issuerURL": text(IssuerURL),
		})}
	case "azure-native:containerservice/v20240901:AgentPool":
		return resource.PropertyMap{"name": in["agentPoolName"]}
	case "azure-native:managedidentity:UserAssignedIdentity":
		return resource.PropertyMap{"name": in["resourceName"], "clientId": text(ClientID), "principalId": text(PrincipalID)}
	case "azure-native:storage:StorageAccount":
		return resource.PropertyMap{"name": in["accountName"]}
	case "random:index/randomString:RandomString":
		return resource.PropertyMap{"result": text(Suffix)}
	}
	return nil
}

// Call answers the one function that the program invokes.
func (m *mocks) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	if args.Token != "azure-native:containerservice/v20240901:listManagedClusterUserCredentials" {
		return nil, fmt.Errorf("the recorder does not know the function %s", args.Token)
	}
	return resource.PropertyMap{"kubeconfigs": resource.NewProperty([]resource.PropertyValue{
		resource.NewProperty(resource.PropertyMap{
			"name":  resource.NewProperty("clusterUser"),
			"value": resource.NewProperty(base64.StdEncoding.EncodeToString([]byte(Kubeconfig))),
		}),
	})}, nil
}
