package azurenative

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/provider"
)

// validator checks the inputs of one resource type.
type validator struct {
	table inputTable
	token string
	// path are the inputs that go into the request's path, not its body.
	path map[string]bool
	// names are the naming rules by input.
	names map[string]nameRule
	// extra are the rules of the type beyond shape and names.
	extra func(inputs map[string]any) []provider.Problem
}

// check answers all that is wrong, at once, in the order of the paths. Values
// that are not known yet are left to the check at creation.
func (v validator) check(inputs map[string]any) []provider.Problem {
	shape := checker{table: v.table}
	kept := shape.object("", v.table.Roots[v.token], inputs)
	problems := shape.problems
	fromModel, err := roundTrip(models[v.token], kept, v.path)
	if err != nil {
		problems = append(problems, provider.Problem{Reason: "the emulator cannot check this: " + err.Error()})
	}
	problems = append(problems, fromModel...)
	for _, key := range slices.Sorted(maps.Keys(v.names)) {
		if name, ok := kept[key].(string); ok {
			if reason := v.names[key].check(name); reason != "" {
				problems = append(problems, provider.Problem{Path: key, Reason: reason})
			}
		}
	}
	problems = append(problems, checkTags("", kept)...)
	if v.extra != nil {
		problems = append(problems, v.extra(kept)...)
	}
	slices.SortStableFunc(problems, func(a, b provider.Problem) int { return strings.Compare(a.Path, b.Path) })
	return problems
}

// checkPool applies AKS's rules for one pool, standalone (path is empty) or
// inline in a cluster.
func checkPool(path string, pool map[string]any) (problems []provider.Problem) {
	report := func(key, format string, args ...any) {
		problems = append(problems, provider.Problem{Path: join(path, key), Reason: fmt.Sprintf(format, args...)})
	}
	scaling, isBool := pool["enableAutoScaling"].(bool)
	_, scalingGiven := pool["enableAutoScaling"]
	fit, problems := checkSpans(path, pool)
	minimum, hasMin := fit["minCount"]
	maximum, hasMax := fit["maxCount"]
	count, hasCount := fit["count"]
	crossed := hasMin && hasMax && minimum > maximum
	if crossed {
		report("minCount", "must not exceed maxCount %v, got %v", maximum, minimum)
	}
	switch {
	case isBool && scaling:
		for _, key := range []string{"minCount", "maxCount"} {
			if _, given := pool[key]; !given {
				report(key, "is required where enableAutoScaling is true")
			}
		}
		if !crossed && hasCount && (hasMin && count < minimum || hasMax && count > maximum) {
			report("count", "must lie within minCount %v and maxCount %v of an autoscaled pool, got %v", pool["minCount"], pool["maxCount"], count)
		}
	case isBool || !scalingGiven:
		for _, key := range []string{"minCount", "maxCount"} {
			if _, given := pool[key]; given {
				report(key, "is only allowed where enableAutoScaling is true")
			}
		}
	}
	return append(append(problems, checkPoolNames(path, pool)...), checkSpot(path, pool)...)
}

func checkSpot(path string, pool map[string]any) (problems []provider.Problem) {
	spot := pool["scaleSetPriority"] == "Spot"
	priority, known := pool["scaleSetPriority"]
	if _, unknown := priority.(provider.Unknown); known && unknown {
		return nil
	}
	if spot && pool["mode"] == "System" {
		problems = append(problems, provider.Problem{Path: join(path, "scaleSetPriority"), Reason: "a system pool cannot be Spot"})
	}
	for _, key := range []string{"scaleSetEvictionPolicy", "spotMaxPrice"} {
		if _, given := pool[key]; given && !spot {
			problems = append(problems, provider.Problem{Path: join(path, key), Reason: "is only allowed where scaleSetPriority is Spot"})
		}
	}
	return problems
}

// checkCluster applies the rules of a cluster and its inline pools.
func checkCluster(cluster map[string]any) (problems []provider.Problem) {
	if _, ok := cluster["dnsPrefix"]; !ok {
		if _, ok := cluster["fqdnSubdomain"]; !ok {
			problems = append(problems, provider.Problem{Path: "dnsPrefix", Reason: "is required where fqdnSubdomain is not set"})
		}
	}
	if cluster["identity"] == nil && cluster["servicePrincipalProfile"] == nil {
		problems = append(problems, provider.Problem{Path: "identity", Reason: "is required where servicePrincipalProfile is not set"})
	}
	if _, unknown := cluster["agentPoolProfiles"].(provider.Unknown); unknown {
		return problems
	}
	pools, _ := cluster["agentPoolProfiles"].([]any)
	system, seen := false, map[string]bool{}
	for i, item := range pools {
		pool, ok := item.(map[string]any)
		if !ok { // unknown or refused already: it may well be the system pool
			system = true
			continue
		}
		path := fmt.Sprintf("agentPoolProfiles[%d]", i)
		problems = append(append(problems, checkPool(path, pool)...), checkTags(path, pool)...)
		// Of an empty pool its own missing keys are said already.
		if _, unknown := pool["mode"].(provider.Unknown); unknown || pool["mode"] == "System" || len(pool) == 0 {
			system = true
		}
		name, ok := pool["name"].(string)
		if !ok {
			continue
		}
		if reason := agentPoolRule.check(name); reason != "" {
			problems = append(problems, provider.Problem{Path: path + ".name", Reason: reason})
		}
		if seen[name] {
			problems = append(problems, provider.Problem{Path: path + ".name", Reason: fmt.Sprintf("%q names two pools", name)})
		}
		seen[name] = true
	}
	if !system {
		problems = append(problems, provider.Problem{Path: "agentPoolProfiles", Reason: "must hold at least one pool of mode System"})
	}
	return problems
}

// checkCredential applies the rules of a federated identity credential.
func checkCredential(credential map[string]any) []provider.Problem {
	const hint = "for AKS workload identity: api://AzureADTokenExchange"
	audiences, ok := credential["audiences"].([]any)
	switch {
	case ok && len(audiences) != 1:
		return []provider.Problem{{Path: "audiences", Reason: fmt.Sprintf("must hold exactly one audience, got %d; %s", len(audiences), hint)}}
	case ok && audiences[0] == "":
		return []provider.Problem{{Path: "audiences[0]", Reason: "must not be empty; " + hint}}
	}
	return nil
}
