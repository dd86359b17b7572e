package infra

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"
)

// nameRule is what Azure accepts as the name of one kind of resource.
type nameRule struct {
	kind    string
	max     int
	pattern *regexp.Regexp
	hint    string
	// fix bends a name towards the rule, for a suggestion.
	fix func(string) string
}

// Azure's naming rules, from
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules and, for node pools,
// https://learn.microsoft.com/azure/aks/create-node-pools#limitations. ARM checks them minutes into a deployment; we check at
// preview.
var (
	// ruleStack is that of DNS prefixes, the strictest for what carries the stack's name. A resource group's (90 characters) and a
	// cluster's (63) leave room for what is put before it, a managed identity's (128) for the longest team's name after it as well.
	ruleStack = nameRule{
		kind: "cluster", max: 54, pattern: regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$`),
		hint: "letters, digits and -, beginning and ending with a letter or digit", fix: strict.Hyphenated,
	}
	ruleAgentPool = nameRule{
		kind: "node pool", max: 12, pattern: regexp.MustCompile(`^[a-z][a-z0-9]*$`),
		hint: "lower-case letters and digits, beginning with a letter", fix: plain,
	}
	ruleAccountPrefix = nameRule{
		kind: "storage account prefix", max: 24 - accountSuffixLength, pattern: regexp.MustCompile(`^[a-z0-9]{3,}$`),
		hint: "at least three lower-case letters and digits", fix: plain,
	}
	ruleContainer = nameRule{
		kind: "blob container", max: 63, pattern: regexp.MustCompile(`^([a-z0-9]-[a-z0-9]|[a-z0-9](-?[a-z0-9]){2,})$`),
		hint: "at least three lower-case letters, digits and single hyphens",
		fix:  func(name string) string { return strict.Hyphenated(strings.ToLower(name)) },
	}
)

// check returns an error that names the config key, the rule and, where one can be made, a name that would do. Names that are taken
// would not.
func (r nameRule) check(path, name string, taken ...string) error {
	if len(name) <= r.max && r.pattern.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%s: %q is no name for a %s: at most %d characters of %s%s", path, name, r.kind, r.max, r.hint,
		strict.WouldDo(r.fix(name), r.max, func(s string) bool { return r.pattern.MatchString(s) && !slices.Contains(taken, s) }))
}

var notPlain = regexp.MustCompile(`[^a-z0-9]`)

// plain leaves lower-case letters and digits, beginning with a letter.
func plain(name string) string {
	return strings.TrimLeft(notPlain.ReplaceAllString(strings.ToLower(name), ""), "0123456789")
}

// The names of what is made once a stack, and once a tenant. They are plain strings, so that previews of an empty stack already show them
// and role assignments can be named after them.
func (a Args) resourceGroupName() string { return "rg-" + a.Name }
func (a Args) clusterName() string       { return "aks-" + a.Name }

func (a Args) identityName(t Tenant) string { return "id-" + a.Name + "-" + t.handle() }

// ClusterID is the cluster's ARM id, written rather than read so that it never becomes unknown.
func (a Args) ClusterID() string {
	return "/subscriptions/" + a.SubscriptionID + "/resourceGroups/" + a.resourceGroupName() +
		"/providers/Microsoft.ContainerService/managedClusters/" + a.clusterName()
}
