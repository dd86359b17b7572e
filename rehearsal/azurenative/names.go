package azurenative

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// nameRule is one of ARM's naming rules.
type nameRule struct {
	pattern *regexp.Regexp
	// text is the rule in words.
	text string
	// longest is the most characters allowed, for the suggestion.
	longest int
	// lower and allowed shape the suggestion: lower-case letters only, and the
	// characters besides letters and digits that may stay.
	lower   bool
	allowed string
	// inner finds the suggestion inside a longer name, in place of these.
	inner *regexp.Regexp
}

var (
	resourceGroupRule = nameRule{pattern: regexp.MustCompile(`^[\w().-]{0,89}[\w()-]$`), longest: 90, allowed: "_-.()",
		text: "1-90 letters, digits, underscores, hyphens, periods and parentheses, not ending in a period"}
	storageAccountRule = nameRule{pattern: regexp.MustCompile(`^[a-z0-9]{3,24}$`), longest: 24, lower: true,
		text: "3-24 lower-case letters and digits"}
	containerRule = nameRule{pattern: regexp.MustCompile(`^[a-z0-9](-?[a-z0-9]){2,62}$`), longest: 63, lower: true, allowed: "-",
		text: "3-63 lower-case letters, digits and single hyphens, starting and ending with a letter or digit"}
	blobServicesRule = nameRule{pattern: regexp.MustCompile(`^default$`), text: `"default", the one that every account has`}
	agentPoolRule    = nameRule{pattern: regexp.MustCompile(`^[a-z][a-z0-9]{0,11}$`), longest: 12, lower: true,
		text: "1-12 lower-case letters and digits, starting with a letter"}
	clusterRule = nameRule{pattern: regexp.MustCompile(`^[a-zA-Z0-9]$|^[a-zA-Z0-9][\w-]{0,61}[a-zA-Z0-9]$`), longest: 63, allowed: "_-",
		text: "1-63 letters, digits, underscores and hyphens, starting and ending with a letter or digit"}
	dnsPrefixRule = nameRule{pattern: regexp.MustCompile(`^[a-zA-Z0-9]$|^[a-zA-Z0-9][a-zA-Z0-9-]{0,52}[a-zA-Z0-9]$`), longest: 54, allowed: "-",
		text: "1-54 letters, digits and hyphens, starting and ending with a letter or digit"}
	nodeResourceGroupRule = nameRule{pattern: regexp.MustCompile(`^[\w().-]{0,79}[\w()-]$`), longest: 80, allowed: "_-.()",
		text: "1-80 letters, digits, underscores, hyphens, periods and parentheses, not ending in a period"}
	identityRule = nameRule{pattern: regexp.MustCompile(`^[a-zA-Z0-9][\w-]{2,127}$`), longest: 128, allowed: "_-",
		text: "3-128 letters, digits, underscores and hyphens, starting with a letter or digit"}
	credentialRule = nameRule{pattern: regexp.MustCompile(`^[a-zA-Z0-9][\w-]{2,119}$`), longest: 120, allowed: "_-",
		text: "3-120 letters, digits, underscores and hyphens, starting with a letter or digit"}
	guidRule = nameRule{pattern: regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`),
		text: "a GUID"}
	roleDefinitionRule = nameRule{
		pattern: regexp.MustCompile(`(?i)^(/subscriptions/[^/]+)?/providers/Microsoft\.Authorization/roleDefinitions/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
		text:    "the full id of a role, /subscriptions/…/providers/Microsoft.Authorization/roleDefinitions/<GUID>"}
	issuerRule = nameRule{pattern: regexp.MustCompile(`^https://`), text: "an https:// URL"}
	vmSizeRule = nameRule{pattern: regexp.MustCompile(`\S`), text: "the name of a VM size, such as Standard_D4s_v5"}
	// https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
	versionRule = nameRule{pattern: regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`), inner: regexp.MustCompile(`\d+\.\d+(\.\d+)?`),
		text: "a version, major.minor or major.minor.patch"}
	// https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling
	surgeRule = nameRule{pattern: regexp.MustCompile(`^[1-9]\d*$|^([1-9]\d?|100)%$`), allowed: "%.",
		text: "a whole number from 1 on, or 1% to 100%"}
	// https://learn.microsoft.com/azure/reliability/availability-zones-overview
	zoneRule = nameRule{pattern: regexp.MustCompile(`^[1-3]$`), text: `a zone, "1", "2" or "3"`}
	// See maxTags.
	tagNameRule = nameRule{pattern: regexp.MustCompile(`^[^<>%&\\?/]{1,512}$`), longest: 512, allowed: "-_. :",
		text: `1-512 characters without < > % & \ ? and /`}
)

// check answers what is wrong with name, or "".
func (r nameRule) check(name string) string {
	if r.pattern.MatchString(name) {
		return ""
	}
	hint := ""
	if fixed := r.fix(name); fixed != name && r.pattern.MatchString(fixed) {
		hint = fmt.Sprintf("; try %q", fixed)
	}
	return fmt.Sprintf("must be %s, got %q (%d characters)%s", r.text, name, utf8.RuneCountInString(name), hint)
}

// fix bends name towards the rule.
func (r nameRule) fix(name string) string {
	if r.inner != nil {
		return r.inner.FindString(name)
	}
	if r.lower {
		name = strings.ToLower(name)
	}
	name = strings.Map(func(c rune) rune {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		switch {
		case letter || strings.ContainsRune(r.allowed, c):
			return c
		case strings.ContainsRune(r.allowed, '-'):
			return '-'
		default:
			return -1
		}
	}, name)
	if r.lower && r.allowed == "" && r.longest <= 12 {
		name = strings.TrimLeft(name, "0123456789")
	}
	if r.longest > 0 && len(name) > r.longest {
		name = name[:r.longest]
	}
	return strings.Trim(name, "-_.")
}
