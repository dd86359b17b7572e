package infra

import (
	"fmt"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/webhook"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	kueueRelease     = "kueue"
	kueueNamespace   = "kueue-system"
	kubeRayRelease   = "kuberay-operator"
	kubeRayNamespace = "kuberay-system"
)

// newOperators installs KubeRay, then Kueue: Kueue starts to manage RayJobs when their kind exists.
func (c *Infra) newOperators(ctx *pulumi.Context) error {
	bridge, err := webhook.Bridge(ctx)
	if err != nil {
		return err
	}
	c.bridge = bridge
	if err := c.newKubeRay(ctx); err != nil {
		return fmt.Errorf("KubeRay: %w", err)
	}
	if err := c.newKueue(ctx); err != nil {
		return fmt.Errorf("Kueue: %w", err)
	}
	return nil
}

func (c *Infra) newKubeRay(ctx *pulumi.Context) error {
	if c.args.Operators.KubeRay.Mode == ModePreinstalled {
		return nil
	}
	return c.install(ctx, "kuberay", helmRelease{
		name:      kubeRayRelease,
		namespace: kubeRayNamespace,
		chart:     c.args.Operators.KubeRay.or(c.args.Versions.KubeRay),
		values:    onSystemPool(),
	})
}

func (c *Infra) newKueue(ctx *pulumi.Context) error {
	if c.args.Operators.Kueue.Mode == ModePreinstalled {
		return nil
	}
	values, err := KueueValues(c.args.Operators.Kueue, c.args.Namespace)
	if err != nil {
		return err
	}
	return c.install(ctx, "kueue", helmRelease{
		name:      kueueRelease,
		namespace: kueueNamespace,
		chart:     c.args.Operators.Kueue.or(c.args.Versions.Kueue),
		values:    values,
	})
}

// install makes the namespace and the release, after everything that has been made ready so far.
func (c *Infra) install(ctx *pulumi.Context, role string, h helmRelease) error {
	namespace, err := c.newNamespace(ctx, role+"-namespace", h.namespace)
	if err != nil {
		return err
	}
	r, err := h.register(ctx, c.name+"-"+role, c.child(pulumi.DependsOn(append([]pulumi.Resource{namespace}, c.ready...))))
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
