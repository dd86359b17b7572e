package infra

import (
	"fmt"
	"maps"
	"slices"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/webhook"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	kueueRelease     = "kueue"
	kueueNamespace   = "kueue-system"
	kubeRayRelease   = "kuberay-operator"
	kubeRayNamespace = "kuberay-system"

	// kueueImage and kubeRayImage are Microsoft's builds; their tags are the charts' versions with a v.
	kueueImage   = "mcr.microsoft.com/oss/v2/kueue/kueue"
	kubeRayImage = "mcr.microsoft.com/oss/v2/kuberay/operator"
)

// newOperators installs KubeRay, then Kueue: Kueue starts to manage RayJobs when their kind exists.
func (c *Infra) newOperators(ctx *pulumi.Context) error {
	bridge, err := webhook.Bridge(ctx)
	if err != nil {
		return err
	}
	c.bridge = bridge
	var crds *helmRelease
	if c.args.Operators.KubeRay.Mode == ModeInstall {
		if crds, err = c.args.kubeRayCRDs(); err != nil {
			return err
		}
	}
	releases, err := c.args.releases(crds)
	if err != nil {
		return err
	}
	for _, r := range releases {
		if err := c.install(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.role, err)
		}
	}
	return nil
}

// releases are the charts that are installed, in their order; crds are KubeRay's.
func (a Args) releases(crds *helmRelease) ([]helmRelease, error) {
	var all []helmRelease
	o := a.Operators
	if o.KubeRay.Mode == ModeInstall {
		all = append(all, a.kubeRay(crds))
	}
	if o.Kueue.Mode == ModeInstall {
		kueue, err := a.kueue()
		if err != nil {
			return nil, fmt.Errorf("making Kueue's configuration: %w", err)
		}
		all = append(all, kueue)
	}
	if len(a.gpuPools()) == 0 {
		return all, nil
	}
	if o.DevicePlugin.Mode == ModeInstall {
		all = append(all, a.devicePlugin())
	}
	if o.GPUMonitoring.Mode == ModeInstall {
		all = append(all, a.gpuMonitoring())
	}
	return all, nil
}

// Releases says what is installed by Helm, and where: namespace/release and the chart's version, by the operator's key in config.
func (a Args) Releases() map[string]string {
	installed := map[string]string{}
	releases, err := a.releases(nil)
	if err != nil {
		return installed // New reports it
	}
	for _, r := range releases {
		version := r.chart.Version
		if version == "" {
			version = r.chart.Location
		}
		installed[r.key] = r.namespace + "/" + r.name + " " + version
	}
	return installed
}

// kubeRay is the operator, with its CRDs, which come first: a new operator may ask for kinds and fields that old ones lack.
func (a Args) kubeRay(crds *helmRelease) helmRelease {
	o := a.Operators.KubeRay
	chart := o.or(a.Versions.KubeRay)
	values := onSystemPool()
	// With it KubeRay has the workers wait for their head, so that none of them starts, fails and starts again.
	values["env"] = []any{map[string]any{"name": "ENABLE_INIT_CONTAINER_INJECTION", "value": "true"}}
	if o.Chart == "" {
		values["image"] = image(kubeRayImage, chart)
	}
	return helmRelease{
		role: roleKubeRay, key: "kuberay", name: kubeRayRelease, namespace: kubeRayNamespace, chart: chart, values: values,
		crds: crds, retain: true,
	}
}

func (a Args) kueue() (helmRelease, error) {
	o := a.Operators.Kueue
	chart := o.or(a.Versions.Kueue)
	values, err := KueueValues(o)
	if err != nil {
		return helmRelease{}, err
	}
	if o.Chart == "" {
		manager := map[string]any{"manager": map[string]any{"image": image(kueueImage, chart)}}
		maps.Copy(manager, onSystemPool())
		values["controllerManager"] = manager
	}
	return helmRelease{role: roleKueue, key: "kueue", name: kueueRelease, namespace: kueueNamespace, chart: chart, values: values, retain: true}, nil
}

// image is the operator's image where the pinned chart is used. A chart that config names brings its own.
func image(repository string, chart Chart) map[string]any {
	return map[string]any{"repository": repository, "tag": "v" + chart.Version}
}

// install makes the namespace, unless it is Kubernetes' own, and the release, after everything that has been made ready so far.
func (c *Infra) install(ctx *pulumi.Context, h helmRelease) error {
	after := c.ready
	if !h.namespaceExists {
		namespace, err := c.newNamespace(ctx, h.role+"-namespace", h.namespace, nil, pulumi.RetainOnDelete(h.retain))
		if err != nil {
			return err
		}
		after = append(slices.Clone(after), namespace)
	}
	if h.crds != nil {
		r, err := h.crds.register(ctx, c.name+"-"+h.crds.role, c.child(pulumi.DependsOn(after)))
		if err != nil {
			return err
		}
		after = append(slices.Clone(after), r)
	}
	r, err := h.register(ctx, c.name+"-"+h.role, c.child(pulumi.DependsOn(after)))
	if err != nil {
		return err
	}
	c.ready = append(c.ready, r)
	return nil
}

// onSystemPool places an operator beside AKS's own services, where no workload can crowd it out.
func onSystemPool() map[string]any {
	taint := aks.TaintSystem()
	return map[string]any{
		"nodeSelector": map[string]any{aks.LabelMode: aks.ModeSystem},
		"tolerations": []any{map[string]any{
			"key": taint.Key, "operator": "Equal", "value": taint.Value, "effect": string(taint.Effect),
		}},
	}
}
