package infra

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// releaseToken registers a Helm Release without the SDK's own package, which would compile half a million lines for this one
// type (docs/adr/0001). The values mirror helm/v3.ReleaseArgs.
const releaseToken = "kubernetes:helm.sh/v3:Release"

// releaseTimeout is how many seconds a chart may take until all of it is ready: image pulls on a new node are in it.
const releaseTimeout = 600

// helmRelease is a Helm Release as far as this program needs one.
type helmRelease struct {
	// role is what its logical names say, and never changes; key is the operator's in config.
	role, key string
	// name and namespace are the release's; namespaceExists says that the namespace is none of ours.
	name, namespace string
	namespaceExists bool
	chart           Chart
	values          map[string]any
	// crds is the release of what the chart has in crds/, in the same namespace; nil leaves that to the chart.
	crds *helmRelease
	// retain says that the release outlives its place in the program: with it would go what others have made of it.
	retain bool
}

// The roles of the releases.
const (
	roleKubeRay       = "kuberay"
	roleKubeRayCRDs   = "kuberay-crds"
	roleKueue         = "kueue"
	roleDevicePlugin  = "device-plugin"
	roleGPUMonitoring = "gpu-monitoring"
)

// release is the registered resource; its outputs are of no use to anyone here.
type release struct{ pulumi.CustomResourceState }

func (h helmRelease) props() pulumi.Map {
	props := pulumi.Map{
		"name":      pulumi.String(h.name),
		"namespace": pulumi.String(h.namespace),
		"chart":     pulumi.String(h.chart.Location),
		"values":    pulumi.ToMap(h.values),
		"timeout":   pulumi.Int(releaseTimeout),
		// The namespace is a resource of its own, or Kubernetes': Helm would create it but never delete it.
		"createNamespace": pulumi.Bool(false),
		"skipAwait":       pulumi.Bool(false),
		// Makes the provider report the release in the shape of the Release type, as the SDK asks it to.
		"compat": pulumi.String("true"),
	}
	if h.crds != nil {
		props["skipCrds"] = pulumi.Bool(true)
	}
	if h.chart.Version != "" {
		props["version"] = pulumi.String(h.chart.Version)
	}
	if h.chart.Repository != "" {
		props["repositoryOpts"] = pulumi.Map{"repo": pulumi.String(h.chart.Repository)}
	}
	return props
}

func (h helmRelease) register(ctx *pulumi.Context, name string, opts ...pulumi.ResourceOption) (*release, error) {
	r := &release{}
	opts = append(opts, pulumi.RetainOnDelete(h.retain))
	return r, ctx.RegisterResource(releaseToken, name, h.props(), r, opts...)
}
