package infra

import (
	"fmt"
	"regexp"
	"strings"
)

// nameRule is what Azure accepts as the name of one kind of resource.
type nameRule struct {
	kind    string
	max     int
	pattern *regexp.Regexp
	hint    string
	// simple says that only lower-case letters and digits may appear, so that a suggestion can be made.
	simple bool
}

// Azure's naming rules, from
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules and, for node pools,
// https://learn.microsoft.com/azure/aks/create-node-pools#limitations. ARM checks them minutes into a deployment; we check at
// preview.
var (
	ruleResourceGroup = nameRule{
		kind: "resource group", max: 90, pattern: regexp.MustCompile(`^[-\w.()]*[-\w()]$`),
		hint: "letters, digits, -, _, . and parentheses, not ending in a dot",
	}
	ruleManagedCluster = nameRule{
		kind: "AKS cluster", max: 63, pattern: regexp.MustCompile(`^[A-Za-z0-9]([-\w]*[A-Za-z0-9])?$`),
		hint: "letters, digits, - and _, beginning and ending with a letter or digit",
	}
	ruleDNSPrefix = nameRule{
		kind: "DNS prefix", max: 54, pattern: regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$`),
		hint: "letters, digits and -, beginning and ending with a letter or digit",
	}
	ruleAgentPool = nameRule{
		kind: "node pool", max: 12, pattern: regexp.MustCompile(`^[a-z][a-z0-9]*$`),
		hint: "lower-case letters and digits, beginning with a letter", simple: true,
	}
	ruleAccountPrefix = nameRule{
		kind: "storage account prefix", max: 24 - accountSuffixLength, pattern: regexp.MustCompile(`^[a-z0-9]{3,}$`),
		hint: "at least three lower-case letters and digits", simple: true,
	}
	ruleContainer = nameRule{
		kind: "blob container", max: 63, pattern: regexp.MustCompile(`^([a-z0-9]-[a-z0-9]|[a-z0-9](-?[a-z0-9]){2,})$`),
		hint: "at least three lower-case letters, digits and single hyphens",
	}
	ruleIdentity = nameRule{
		kind: "managed identity", max: 128, pattern: regexp.MustCompile(`^[A-Za-z0-9][-\w]{2,}$`),
		hint: "letters, digits, - and _, beginning with a letter or digit",
	}
	ruleCredential = nameRule{
		kind: "federated credential", max: 120, pattern: regexp.MustCompile(`^[A-Za-z0-9][-\w]{2,}$`),
		hint: "letters, digits, - and _, beginning with a letter or digit",
	}
)

// check returns an error that names the config key, the rule and, where one can be made, a name that would do.
func (r nameRule) check(path, name string) error {
	if len(name) <= r.max && r.pattern.MatchString(name) {
		return nil
	}
	msg := fmt.Sprintf("%s: %q is no name for a %s: at most %d characters of %s", path, name, r.kind, r.max, r.hint)
	if s := r.suggest(name); s != "" {
		msg += fmt.Sprintf("; %q would do", s)
	}
	return fmt.Errorf("%s", msg)
}

var notSimple = regexp.MustCompile(`[^a-z0-9]`)

func (r nameRule) suggest(name string) string {
	if !r.simple {
		return ""
	}
	s := strings.TrimLeft(notSimple.ReplaceAllString(strings.ToLower(name), ""), "0123456789")
	if len(s) > r.max {
		s = s[:r.max]
	}
	if !r.pattern.MatchString(s) {
		return ""
	}
	return s
}

// The names of what is made once a stack, and once a tenant. They are plain strings, so that previews of an empty stack already show them
// and role assignments can be named after them.
func (a Args) resourceGroupName() string { return "rg-" + a.Name }
func (a Args) clusterName() string       { return "aks-" + a.Name }

func (a Args) identityName(t Tenant) string { return "id-" + a.Name + "-" + t.Name }

// clusterID is the cluster's ARM id, written rather than read so that it never becomes unknown.
func (a Args) clusterID() string {
	return "/subscriptions/" + a.SubscriptionID + "/resourceGroups/" + a.resourceGroupName() +
		"/providers/Microsoft.ContainerService/managedClusters/" + a.clusterName()
}
