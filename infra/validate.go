package infra

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CPUPool is the pool that is always there: heads, submitters and CPU workloads run on it.
const CPUPool = "cpu"

// maxNodes is the most nodes that AKS allows in one pool; a system pool needs one at least.
// https://learn.microsoft.com/rest/api/aks/managed-clusters/create-or-update#managedclusteragentpoolprofile
const maxNodes = 1000

var (
	versionPattern = regexp.MustCompile(`^(1\.\d+)(\.\d+)?$`)
	uuidPattern    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Validate reports everything that cannot work, each with the path of its config key.
func (a Args) Validate() error {
	return errors.Join(
		a.validateAzure(),
		a.Cluster.validate("infra.cluster", a.Versions.Kubernetes),
		a.Pools.validate("infra.pools"),
		a.Storage.validate("infra.storage"),
		a.Operators.validate("infra.operators"),
	)
}

func (a Args) validateAzure() error {
	var errs []error
	if a.Location == "" {
		errs = append(errs, errors.New("azure-native:location: must name an Azure region, for example eastus2"))
	}
	if !uuidPattern.MatchString(a.SubscriptionID) {
		errs = append(errs, fmt.Errorf("azure-native:subscriptionId: must be a subscription's UUID, got %q", a.SubscriptionID))
	}
	errs = append(errs,
		ruleResourceGroup.check("infra.name", a.resourceGroupName()),
		ruleManagedCluster.check("infra.name", a.clusterName()),
		ruleDNSPrefix.check("infra.name", a.Name),
		ruleIdentity.check("infra.name", a.identityName()),
		strict.CheckLabel("infra.namespace", a.Namespace),
		checkNotTaken("infra.namespace", a.Namespace),
		strict.CheckLabel("infra.serviceAccount", a.ServiceAccount),
		ruleCredential.check("infra.serviceAccount", credentialName(a.Namespace, a.ServiceAccount)),
	)
	return errors.Join(errs...)
}

// checkNotTaken refuses the namespaces of others.
func checkNotTaken(path, namespace string) error {
	owner := ""
	switch namespace {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease:
		owner = "Kubernetes"
	case kueueNamespace:
		owner = "Kueue"
	case kubeRayNamespace:
		owner = "KubeRay"
	default:
		return nil
	}
	return fmt.Errorf("%s: %q belongs to %s, and this program makes and deletes the namespace of the workloads; choose another, for example ray",
		path, namespace, owner)
}

func (c Cluster) validate(path string, minors []string) error {
	var errs []error
	if m := versionPattern.FindStringSubmatch(c.KubernetesVersion); m == nil {
		errs = append(errs, fmt.Errorf("%s.kubernetesVersion: must be like 1.35 or 1.35.3, got %q", path, c.KubernetesVersion))
	} else if !slices.Contains(minors, m[1]) {
		errs = append(errs, fmt.Errorf("%s.kubernetesVersion: must be of %s, got %q: "+
			"older minors lack the mounts by workload identity, newer ones are not known to this program", path, strings.Join(minors, ", "), c.KubernetesVersion))
	}
	errs = append(errs, oneOf(path+".tier", c.Tier, "Free", "Standard", "Premium"))
	errs = append(errs, oneOf(path+".login", c.Login, LoginAzureCLI, LoginWorkloadIdentity))
	if len(c.AdminGroups) > 0 && !c.DisableLocalAccounts {
		errs = append(errs, fmt.Errorf("%s.adminGroups: has no effect unless %s.disableLocalAccounts is true", path, path))
	}
	for i, id := range c.AdminGroups {
		if !uuidPattern.MatchString(id) {
			errs = append(errs, fmt.Errorf("%s.adminGroups[%d]: must be the object id of a group, got %q", path, i, id))
		}
	}
	errs = append(errs, checkSize(path+".system.vmSize", c.System.VMSize))
	if c.System.Count < 1 || c.System.Count > maxNodes {
		errs = append(errs, fmt.Errorf("%s.system.count: must be between 1 and %d, got %d", path, maxNodes, c.System.Count))
	}
	errs = append(errs, c.System.Zones.validate(path+".system.zones"))
	return errors.Join(errs...)
}

func (p Pools) validate(path string) error {
	var errs []error
	if _, ok := p[CPUPool]; !ok {
		errs = append(errs, fmt.Errorf("%s.%s: must exist: heads and submitters run there", path, CPUPool))
	}
	for _, name := range p.Names() {
		errs = append(errs, ruleAgentPool.check(path+"."+name, name))
		if name == systemPoolName {
			errs = append(errs, fmt.Errorf("%s.%s: is the name of the cluster's own system pool", path, name))
		}
		errs = append(errs, p[name].validate(path+"."+name))
	}
	return errors.Join(errs...)
}

func (p Pool) validate(path string) error {
	errs := []error{checkSize(path+".vmSize", p.VMSize), p.Zones.validate(path + ".zones")}
	// A size with GPUs needs a taint, a device plugin and a flavor of its own, none of which this release makes.
	if s, err := p.SKU(); err == nil && s.GPUs > 0 {
		errs = append(errs, fmt.Errorf("%s.vmSize: %s has GPUs, and GPU pools are not supported yet", path, s.Name))
	}
	if p.Min < 0 {
		errs = append(errs, fmt.Errorf("%s.min: must not be negative, got %d", path, p.Min))
	}
	if p.Max < 1 || p.Max < p.Min || p.Max > maxNodes {
		errs = append(errs, fmt.Errorf("%s.max: must be between max(1, min) and %d, got %d", path, maxNodes, p.Max))
	}
	if p.Count < p.Min || p.Count > p.Max {
		errs = append(errs, fmt.Errorf("%s.count: must be between min %d and max %d, got %d; it is the number at creation only", path, p.Min, p.Max, p.Count))
	}
	return errors.Join(errs...)
}

func (s Storage) validate(path string) error {
	return errors.Join(
		ruleAccountPrefix.check(path+".accountPrefix", s.AccountPrefix),
		ruleContainer.check(path+".container", s.Container),
		// No premium SKU: with the kind StorageV2 it is for page blobs alone, and has no access tier.
		oneOf(path+".sku", s.SKU, "Standard_LRS", "Standard_ZRS", "Standard_GRS", "Standard_GZRS"),
	)
}

func (o Operators) validate(path string) error {
	errs := []error{
		oneOf(path+".kuberay.mode", o.KubeRay.Mode, ModeInstall, ModePreinstalled),
		oneOf(path+".kueue.mode", o.Kueue.Mode, ModeInstall, ModePreinstalled),
	}
	for i, f := range o.Kueue.Frameworks {
		errs = append(errs, oneOf(fmt.Sprintf("%s.kueue.frameworks[%d]", path, i), f, addableFrameworks...))
	}
	if d := o.Kueue.WaitForPodsReady.Duration; d < time.Minute {
		errs = append(errs, fmt.Errorf("%s.kueue.waitForPodsReady: must be at least 1m, got %s", path, d))
	}
	if o.Kueue.RequeueLimit < 0 {
		errs = append(errs, fmt.Errorf("%s.kueue.requeueLimit: must not be negative, got %d", path, o.Kueue.RequeueLimit))
	}
	if d := o.Kueue.RetainFinished.Duration; d < 0 {
		errs = append(errs, fmt.Errorf("%s.kueue.retainFinished: must not be negative, got %s", path, d))
	}
	return errors.Join(errs...)
}

func checkSize(path, name string) error {
	if _, err := sku.Lookup(name); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func oneOf[T ~string](path string, got T, allowed ...T) error {
	if slices.Contains(allowed, got) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("%s: must be one of %s, got %q", path, strings.Join(names, ", "), got)
}
