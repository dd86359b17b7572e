package azurenative

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"ray-on-aks/internal/strict"
	"ray-on-aks/rehearsal/provider"
)

// span is the range of a number of a pool.
type span struct {
	key       string
	low, high float64
	// system is the least in a system pool.
	system float64
}

// poolSpans are the ranges of a pool's numbers, from
// https://learn.microsoft.com/rest/api/aks/agent-pools/create-or-update
// (count, osDiskSizeGB) and
// https://learn.microsoft.com/azure/aks/quotas-skus-regions (nodes per pool,
// maxPods); the least maxPods is in
// https://learn.microsoft.com/azure/aks/node-auto-provisioning-aksnodeclass.
var poolSpans = []span{
	{key: "count", low: 0, system: 1, high: 1000},
	{key: "minCount", low: 0, system: 1, high: 1000},
	{key: "maxCount", low: 0, system: 1, high: 1000},
	{key: "maxPods", low: 10, system: 10, high: 250},
	{key: "osDiskSizeGB", low: 0, system: 0, high: 2048},
}

// poolNames are the rules of a pool's strings, by the path to them.
var poolNames = []struct {
	path []string
	rule nameRule
}{
	{[]string{"vmSize"}, vmSizeRule},
	{[]string{"orchestratorVersion"}, versionRule},
	{[]string{"upgradeSettings", "maxSurge"}, surgeRule},
}

// taintEffects are those of https://learn.microsoft.com/azure/aks/use-node-taints.
var taintEffects = []string{"NoExecute", "NoSchedule", "PreferNoSchedule"}

// reservedLabels is the prefix that AKS keeps for its own labels:
// https://learn.microsoft.com/azure/aks/use-labels.
const reservedLabels = "kubernetes.azure.com/"

// spotLabel is the one of them that a program may say itself, with the value
// spotValue and of a Spot pool: https://learn.microsoft.com/azure/aks/spot-node-pool.
const (
	spotLabel = reservedLabels + "scalesetpriority"
	spotValue = "spot"
)

// checkSpans answers the numbers of a pool that are in range, and those that
// are not as problems.
func checkSpans(path string, pool map[string]any) (fit map[string]float64, problems []provider.Problem) {
	fit = map[string]float64{}
	for _, span := range poolSpans {
		value, ok := pool[span.key].(float64)
		if !ok {
			continue
		}
		low, kind := span.low, ""
		if pool["mode"] == "System" && span.system > span.low {
			low, kind = span.system, " in a system pool"
		}
		if value >= low && value <= span.high {
			fit[span.key] = value
			continue
		}
		problems = append(problems, provider.Problem{Path: join(path, span.key), Reason: fmt.Sprintf(
			"must lie between %v and %v%s, got %v; the nearest is %v", low, span.high, kind, value, min(max(value, low), span.high))})
	}
	return fit, problems
}

// checkPoolNames applies the rules of a pool's strings: the names, the zones,
// the taints and the labels.
func checkPoolNames(path string, pool map[string]any) (problems []provider.Problem) {
	report := func(at, reason string) {
		if reason != "" {
			problems = append(problems, provider.Problem{Path: at, Reason: reason})
		}
	}
	for _, name := range poolNames {
		at, value := path, any(pool)
		for _, key := range name.path {
			inner, _ := value.(map[string]any)
			at, value = join(at, key), inner[key]
		}
		if value, ok := value.(string); ok {
			report(at, name.rule.check(value))
		}
	}
	seen := map[string]bool{}
	for i, item := range list(pool, "availabilityZones") {
		zone, ok := item.(string)
		if !ok {
			continue
		}
		at := fmt.Sprintf("%s[%d]", join(path, "availabilityZones"), i)
		report(at, zoneRule.check(zone))
		if seen[zone] {
			report(at, fmt.Sprintf("names zone %q a second time", zone))
		}
		seen[zone] = true
	}
	for i, item := range list(pool, "nodeTaints") {
		if taint, ok := item.(string); ok {
			report(fmt.Sprintf("%s[%d]", join(path, "nodeTaints"), i), checkTaint(taint))
		}
	}
	labels := object(pool, "nodeLabels")
	for key := range labels {
		value, _ := labels[key].(string) // an unknown value passes as the empty one
		if key == spotLabel && value == spotValue && pool["scaleSetPriority"] == "Spot" {
			continue
		}
		report(join(join(path, "nodeLabels"), key), checkLabel(key, value))
	}
	return problems
}

// checkTaint answers what is wrong with a taint in AKS's notation, or "".
func checkTaint(taint string) string {
	label, effect, _ := strings.Cut(taint, ":")
	for _, known := range taintEffects {
		if effect == known {
			key, value, _ := strings.Cut(label, "=")
			return syntax(key, value)
		}
	}
	return fmt.Sprintf("must be key=value:effect or key:effect, the effect one of %s, got %q%s",
		strings.Join(taintEffects, ", "), taint, didYouMean(effect, taintEffects))
}

// checkLabel answers what is wrong with a node label, or "".
func checkLabel(key, value string) string {
	if strings.HasPrefix(key, reservedLabels) {
		return fmt.Sprintf("must not start with %s, which AKS keeps for its own labels; try %q", reservedLabels,
			strings.TrimPrefix(key, reservedLabels))
	}
	return syntax(key, value)
}

// syntax applies Kubernetes' rules for the key and value of a label or taint.
func syntax(key, value string) string {
	if wrong := content.IsLabelKey(key); len(wrong) > 0 {
		return fmt.Sprintf("has the key %q: %s", key, strings.Join(wrong, "; "))
	}
	if wrong := content.IsLabelValue(value); len(wrong) > 0 {
		return fmt.Sprintf("has the value %q: %s", value, strings.Join(wrong, "; "))
	}
	return ""
}

// didYouMean is suggest without the list.
func didYouMean(name string, known []string) string {
	if near := strict.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
