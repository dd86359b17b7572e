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
	// TenantID is the Entra tenant of every identity.
	TenantID = "33333333-3333-3333-3333-333333333333"
	// Token is every random password.
	Token = "not-a-secret-token"
	// Suffix is every random string.
	Suffix = "abcd1234"
	// IssuerURL is the cluster's token issuer.
	IssuerURL = "https://oidc.example/issuer/"
)

// ClientID is the client id of the identity of that Azure name.
func ClientID(identity string) string { return "client-of-" + identity }

// PrincipalID is the principal id of the identity of that Azure name.
func PrincipalID(identity string) string { return "principal-of-" + identity }

type mocks struct {
	preview bool
	stacks  map[string]resource.PropertyMap

	mu        sync.Mutex
	resources []Resource
}

// NewResource records a registration. The program registers concurrently.
func (m *mocks) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	rpc := args.RegisterRPC
	r := Resource{
		Type: args.TypeToken, Name: args.Name, Inputs: args.Inputs, Provider: args.Provider, Custom: args.Custom,
		Parent: rpc.GetParent(), DeletedWith: rpc.GetDeletedWith(), Dependencies: rpc.GetDependencies(),
		IgnoreChanges: rpc.GetIgnoreChanges(), ReplaceOnChanges: rpc.GetReplaceOnChanges(), DeleteBeforeReplace: rpc.GetDeleteBeforeReplace(),
		PropertyDependencies: map[string][]string{}, Protect: rpc.GetProtect(), RetainOnDelete: rpc.GetRetainOnDelete(),
		ReplaceWith: rpc.GetReplaceWith(), ErrorHooks: rpc.GetHooks().GetOnError(), UpdateHooks: rpc.GetHooks().GetBeforeUpdate(),
	}
	for property, on := range rpc.GetPropertyDependencies() {
		r.PropertyDependencies[property] = on.GetUrns()
	}
	m.mu.Lock()
	m.resources = append(m.resources, r)
	m.mu.Unlock()

	if args.TypeToken == stackReference {
		state, err := m.read(args.ID)
		return args.ID, state, err
	}
	outputs := args.Inputs.Copy()
	for key, value := range computed(args.TypeToken, args.Inputs) {
		// Names and secrets stay known: the SDK's mocks cannot carry unknown secrets, and the cluster's name would make the kubeconfig one.
		if m.preview && key != "name" && !value.IsSecret() {
			value = resource.MakeComputed(resource.NewProperty(""))
		}
		outputs[key] = value
	}
	if m.preview {
		return "", outputs, nil
	}
	return args.Name + "-id", outputs, nil
}

// stackReference is the type of what is read of another stack.
const stackReference = "pulumi:pulumi:StackReference"

// read answers the outputs of another stack as the engine does, or its words where there is no such stack.
func (m *mocks) read(stack string) (resource.PropertyMap, error) {
	outputs, ok := m.stacks[stack]
	if !ok {
		return nil, fmt.Errorf("unknown stack %q", stack)
	}
	return resource.PropertyMap{"name": resource.NewProperty(stack), "outputs": resource.NewProperty(outputs)}, nil
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
		name := in["resourceName"].StringValue()
		return resource.PropertyMap{
			"name": text(name), "clientId": text(ClientID(name)), "principalId": text(PrincipalID(name)), "tenantId": text(TenantID),
		}
	case "azure-native:storage:StorageAccount":
		return resource.PropertyMap{"name": in["accountName"]}
	case "random:index/randomPassword:RandomPassword":
		return resource.PropertyMap{"result": resource.MakeSecret(text(Token))}
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
