// Package provider: this file takes the place of the one of the same name in
// the Kubernetes provider's module. The original is the only importer of the
// remote components (yaml/v2, helm/v4 Chart, kustomize), which pull in half a
// million lines of generated SDK; without it the provider builds in less than
// half the time. The program uses none of them.
package provider

import (
	"context"
	"fmt"

	providerresource "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// resourceProviders lists the remote components of this build: none.
var resourceProviders = map[string]providerresource.ResourceProviderFactory{}

// Construct refuses every remote component by name.
func (k *kubeProvider) Construct(_ context.Context, req *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {
	return nil, fmt.Errorf("remote component %q is not part of the rehearsal's build of the Kubernetes provider", req.GetType())
}
