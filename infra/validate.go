package infra

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"
)

var (
	versionPattern = regexp.MustCompile(`^(1\.\d+)(\.\d+)?$`)
	uuidPattern    = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// Validate reports everything that cannot work, each with the path of its config key.
func (a Args) Validate() error {
	return errors.Join(
		a.validateAzure(),
		a.validateTenants(),
		a.Cluster.validate("infra.cluster", a.Versions.Kubernetes),
		a.validateSystemPool("infra.cluster.system"),
		a.validateSizes("infra.skus"),
		a.validatePools("infra.pools"),
		a.Storage.validate("infra.storage"),
		a.Operators.validate("infra.operators"),
		a.validateAllowReplace("infra.allowReplace"),
	)
}

// Refused lists the names of pools and containers that are refused here. What others say of one is not judged by them: it has to change.
func (a Args) Refused() []string {
	var names []string
	for _, name := range a.Pools.Names() {
		if name == systemPoolName || ruleAgentPool.check("", name) != nil {
			names = append(names, name)
		}
	}
	for _, name := range a.Storage.Containers {
		if ruleContainer.check("", name) != nil {
			names = append(names, name)
		}
	}
	return names
}

func (a Args) validateAzure() error {
	var errs []error
	if strings.TrimSpace(a.Location) == "" {
		errs = append(errs, errors.New("azure-native:location: must name an Azure region, for example eastus2"))
	}
	if !uuidPattern.MatchString(a.SubscriptionID) {
		errs = append(errs, fmt.Errorf("azure-native:subscriptionId: must be a subscription's UUID (az account show --query id), got %q", a.SubscriptionID))
	}
	return errors.Join(append(errs, ruleStack.check("infra.name", a.Name), validateTags("infra.tags", a.Tags))...)
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
		errs = append(errs, fmt.Errorf("%s.adminGroups: has no effect unless %s.disableLocalAccounts is true; set that, or leave it out", path, path))
	}
	return errors.Join(append(errs, strict.Each(path+".adminGroups", c.AdminGroups, func(at, id string) error {
		if uuidPattern.MatchString(id) {
			return nil
		}
		return fmt.Errorf("%s: must be the object id of a group, a UUID (az ad group show --query id), got %q", at, id)
	})...)...)
}

func (a Args) validateSystemPool(path string) error {
	system := a.Cluster.System
	errs := []error{a.checkSize(path+".vmSize", system.VMSize, checkSystemSize), system.Zones.validate(path + ".zones")}
	if system.Count < 1 || system.Count > maxPoolNodes {
		errs = append(errs, fmt.Errorf("%s.count: must be between 1 and %d, got %d%s", path, maxPoolNodes, system.Count, whyNodes(system.Count)))
	}
	return errors.Join(errs...)
}

func (s Storage) validate(path string) error {
	errs := []error{
		ruleAccountPrefix.check(path+".accountPrefix", s.AccountPrefix),
		// No premium SKU: with the kind StorageV2 it is for page blobs alone, and has no access tier.
		oneOf(path+".sku", s.SKU, "Standard_LRS", "Standard_ZRS", "Standard_GRS", "Standard_GZRS"),
	}
	if len(s.Containers) == 0 {
		errs = append(errs, fmt.Errorf("%s.containers: must name one blob container at least, for example models", path))
	}
	return errors.Join(append(errs, strict.Each(path+".containers", s.Containers, func(at, name string) error {
		return ruleContainer.check(at, name, s.Containers...)
	})...)...)
}

func oneOf[T ~string](path string, got T, allowed ...T) error {
	if slices.Contains(allowed, got) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("%s: must be one of %s, got %q", path, strict.List(names), got)
}
