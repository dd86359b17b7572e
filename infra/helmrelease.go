package infra

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// releaseToken registers a Helm Release without the SDK's own package, which would compile half a million lines for this one
// type (docs/adr/0001). The values mirror helm/v3.ReleaseArgs.
const releaseToken = "kubernetes:helm.sh/v3:Release"

// releaseTimeout is how many seconds a chart may take until all of it is ready: image pulls on a new node are in it.
const releaseTimeout = 600

// helmRelease is a Helm Release as far as this program needs one.
type helmRelease struct {
	name      string
	namespace string
	chart     Chart
	values    map[string]any
}

// release is the registered resource; its outputs are of no use to anyone here.
type release struct{ pulumi.CustomResourceState }

func (h helmRelease) props() pulumi.Map {
	props := pulumi.Map{
		"name":      pulumi.String(h.name),
		"namespace": pulumi.String(h.namespace),
		"chart":     pulumi.String(h.chart.Location),
		"values":    pulumi.ToMap(h.values),
		"timeout":   pulumi.Int(releaseTimeout),
		// The namespace is a resource of its own: Helm would create it but never delete it.
		"createNamespace": pulumi.Bool(false),
		"skipAwait":       pulumi.Bool(false),
		// Makes the provider report the release in the shape of the Release type, as the SDK asks it to.
		"compat": pulumi.String("true"),
	}
	if h.chart.Version != "" {
		props["version"] = pulumi.String(h.chart.Version)
	}
	return props
}

func (h helmRelease) register(ctx *pulumi.Context, name string, opts ...pulumi.ResourceOption) (*release, error) {
	r := &release{}
	return r, ctx.RegisterResource(releaseToken, name, h.props(), r, opts...)
}

// or returns the chart that config names, with the pinned one's parts where it names none. A folder has no version to choose.
func (o Operator) or(pinned Chart) Chart {
	if o.Chart == "" {
		o.Chart = pinned.Location
	}
	if o.Version == "" && !isFolder(o.Chart) {
		o.Version = pinned.Version
	}
	return Chart{Location: o.Chart, Version: o.Version}
}

func isFolder(chart string) bool {
	return strings.HasPrefix(chart, ".") || strings.HasPrefix(chart, "/")
}
