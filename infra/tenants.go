package infra

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/strict"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	k8smetav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newTenants makes what each tenant's pods need before they can run: a namespace, an identity and the service account that is it, the
// platform's addresses, and mounts.
func (c *Infra) newTenants(ctx *pulumi.Context) error {
	for i, t := range c.args.tenants() {
		namespace, err := c.newNamespace(ctx, "namespace-"+t.handle(), t.Namespace, pulumi.StringMap{aks.LabelTenant: pulumi.String(t.Name)})
		if err != nil {
			return fmt.Errorf("namespace of %s: %w", t.Name, err)
		}
		c.Namespaces[t.Name] = namespace
		c.settled = append(c.settled, namespace)
		identity, err := c.newIdentity(ctx, t)
		if err != nil {
			return fmt.Errorf("identity of %s: %w", t.Name, err)
		}
		if i == 0 {
			c.TenantID = identity.TenantId
		}
		c.ClientIDs[t.Name] = identity.ClientId
		if err := c.newServiceAccount(ctx, t, identity, namespace); err != nil {
			return fmt.Errorf("service account of %s: %w", t.Name, err)
		}
		if err := c.newPlatform(ctx, t, namespace); err != nil {
			return fmt.Errorf("platform of %s: %w", t.Name, err)
		}
		if err := c.newMounts(ctx, t, identity, namespace); err != nil {
			return fmt.Errorf("mounts of %s: %w", t.Name, err)
		}
	}
	return nil
}

// tenants lists the tenants in a fixed order.
func (a Args) tenants() []Tenant {
	return slices.SortedFunc(slices.Values(a.Tenants), func(x, y Tenant) int { return cmp.Compare(x.Name, y.Name) })
}

// newNamespace makes a namespace with more labels than all have.
func (c *Infra) newNamespace(
	ctx *pulumi.Context, role, name string, labels pulumi.StringMap, opts ...pulumi.ResourceOption,
) (*corev1.Namespace, error) {
	all := pulumi.StringMap{aks.LabelManagedBy: pulumi.String(aks.ManagedBy)}
	maps.Copy(all, labels)
	return corev1.NewNamespace(ctx, c.name+"-"+role, &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:   pulumi.String(name),
			Labels: all,
		},
	}, c.child(opts...))
}

// newPlatform tells the tenant's pods what is known only after creation, so that no workload has to hold an output.
func (c *Infra) newPlatform(ctx *pulumi.Context, t Tenant, namespace pulumi.Resource) error {
	platform, err := corev1.NewConfigMap(ctx, c.name+"-platform-"+t.handle(), &corev1.ConfigMapArgs{
		Metadata: t.metadata(aks.PlatformConfigMap),
		Data: pulumi.StringMap{
			aks.KeyStorageAccount: c.account.Name,
			aks.KeyLocation:       pulumi.String(c.args.Location),
		},
	}, c.child(pulumi.DependsOn([]pulumi.Resource{namespace})))
	if err != nil {
		return err
	}
	c.settled = append(c.settled, platform)
	return nil
}

// handle is what the tenant's resources are called by.
func (t Tenant) handle() string { return aks.TenantHandle(t.Namespace) }

// metadata names an object in the tenant's namespace.
func (t Tenant) metadata(name string) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{
		Name:      pulumi.String(name),
		Namespace: pulumi.String(t.Namespace),
		Labels:    pulumi.StringMap{aks.LabelManagedBy: pulumi.String(aks.ManagedBy)},
	}
}

// validateTenants checks what Azure, the cluster and the other tenants make of the names; queues checks the names themselves.
func (a Args) validateTenants() error {
	var errs []error
	if len(a.Tenants) == 0 {
		errs = append(errs, errors.New("queues.teams: must leave one tenant at least"))
	}
	for _, t := range a.tenants() {
		errs = append(errs, checkNotTaken(t.Key, t.Namespace))
	}
	return errors.Join(append(errs, a.validateCredentials())...)
}

// validateCredentials checks the credentials of all tenants, once where the same is wrong with several.
func (a Args) validateCredentials() error {
	if err := strict.CheckLabel("infra.serviceAccount", a.ServiceAccount); err != nil {
		return err
	}
	if a.ServiceAccount == "default" {
		return errors.New("infra.serviceAccount: must not be default: Kubernetes makes that one in every namespace, and pods that name none run as it; " +
			"choose another, for example ray-workload")
	}
	for _, t := range a.tenants() {
		if err := validateSubjects("queues.teams."+t.Name, a.subjects(t)); err != nil {
			return err
		}
	}
	return nil
}

// checkNotTaken refuses the namespaces of others.
func checkNotTaken(path, namespace string) error {
	var owner string
	switch {
	case namespace == k8smetav1.NamespaceDefault, strings.HasPrefix(namespace, "kube-"):
		owner = "Kubernetes"
	case namespace == kueueNamespace:
		owner = "Kueue"
	case namespace == kubeRayNamespace:
		owner = "KubeRay"
	case namespace == gpuMonitoringNamespace:
		owner = "the GPU monitoring"
	default:
		return nil
	}
	return fmt.Errorf("%s: %q belongs to %s, and this program makes and deletes the namespace of the workloads; choose another, for example ray",
		path, namespace, owner)
}
