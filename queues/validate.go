package queues

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxTeamName leaves room for what begins a team's namespace.
	maxTeamName = validation.DNS1123LabelMaxLength - len(aks.NamespacePrefix)
	// maxFlavors is the most that one resource group of a ClusterQueue can have.
	maxFlavors = 64
)

// Validate reports everything that cannot work, each with the path of its config key. Teams are checked in either shape, so that a
// stack that is accepted in one is accepted in the other too.
func (a Args) Validate() error {
	var errs []error
	switch {
	case a.Shape != ShapeSingle && a.Shape != ShapeTeams:
		errs = append(errs, fmt.Errorf("queues.shape: must be %s or %s, got %q", ShapeSingle, ShapeTeams, a.Shape))
	case a.Shape == ShapeTeams && len(a.Teams) == 0:
		errs = append(errs, fmt.Errorf("queues.teams: must declare at least one team for queues.shape %s", ShapeTeams))
	}
	if len(a.Pools) > maxFlavors {
		errs = append(errs, fmt.Errorf("infra.pools: %d pools are for the queues, and a ClusterQueue can have %d flavors; set serving on others", len(a.Pools), maxFlavors))
	}
	errs = append(errs,
		strict.CheckLabel("queues.clusterQueue", a.ClusterQueue),
		strict.CheckLabel("queues.cohort", a.Cohort),
		strict.CheckLabel("queues.localQueue", a.LocalQueue),
		strict.CheckLabel("queues.namespace", a.Namespace),
	)
	if a.LocalQueue == "default" {
		errs = append(errs, errors.New("queues.localQueue: must not be default: Kueue would put every unlabelled Ray object of the namespace into it"))
	}
	errs = append(errs, a.validatePriorities(), a.validateTeams(), a.validateTotals(), a.validateSums())
	return errors.Join(errs...)
}

// Refused lists the names of teams and priorities that are refused here. What others say of one is not judged by them: it has to change.
func (a Args) Refused() []string {
	return append(
		slices.DeleteFunc(a.Teams.Names(), func(name string) bool { return a.checkTeamName("", name) == nil }),
		slices.DeleteFunc(slices.Sorted(maps.Keys(a.Priorities)), func(name string) bool { return strict.CheckLabel("", name) == nil })...)
}

// validatePriorities keeps classes apart, and above jobs without any, which count as 0.
func (a Args) validatePriorities() error {
	var errs []error
	taken := map[int32]string{}
	for _, name := range slices.Sorted(maps.Keys(a.Priorities)) {
		path, value := "queues.priorities."+name, a.Priorities[name]
		errs = append(errs, strict.CheckLabel(path, name, slices.Sorted(maps.Keys(a.Priorities))...))
		if value <= 0 {
			errs = append(errs, fmt.Errorf("%s: must be more than 0, which jobs without a priority have, got %d", path, value))
			continue
		}
		if other, ok := taken[value]; ok {
			errs = append(errs, fmt.Errorf("%s: has the value %d of %s; neither would go before the other", path, value, other))
		}
		taken[value] = name
	}
	return errors.Join(errs...)
}

// validateTeams checks each team by itself, and that no two share a namespace: whoever is in it could use the other's queue and data.
func (a Args) validateTeams() error {
	var errs []error
	for _, name := range a.Teams.Names() {
		errs = append(errs, a.validateTeam("queues.teams."+name, name))
	}
	owner := map[string]string{}
	if len(a.Teams) > 0 {
		for _, t := range a.Tenants() {
			if other, ok := owner[t.Namespace]; ok {
				errs = append(errs, fmt.Errorf("queues.teams.%s.namespace: %s is the namespace of %s too; each team must have its own", t.Name, t.Namespace, other))
				continue
			}
			owner[t.Namespace] = t.Name
		}
	}
	return errors.Join(errs...)
}

func (a Args) validateTeam(path, name string) error {
	errs := []error{a.checkTeamName(path, name)}
	team := a.Teams[name]
	if team.Namespace != "" {
		errs = append(errs, strict.CheckLabel(path+".namespace", team.Namespace))
	}
	if team.Share < 1 || team.Share > maxShare {
		errs = append(errs, fmt.Errorf("%s.share: must be between 1 and %d, got %d", path, maxShare, team.Share))
	}
	return errors.Join(append(errs,
		a.validateQuotas(path+".quota", team.Quota, boundTotal),
		a.validateQuotas(path+".borrowingLimit", team.BorrowingLimit, boundLimit),
		a.validateQuotas(path+".lendingLimit", team.LendingLimit, boundLimit))...)
}

func (a Args) checkTeamName(path, name string) error {
	if len(name) <= maxTeamName {
		return strict.CheckLabel(path, name, a.Teams.Names()...)
	}
	return fmt.Errorf("%s: has %d characters; at most %d leave room for the namespace %s<team>%s", path, len(name), maxTeamName, aks.NamespacePrefix,
		strict.WouldDo(name, maxTeamName, func(short string) bool {
			_, taken := a.Teams[short]
			return !taken && strict.CheckLabel(path, short) == nil
		}))
}

// validateTotals refuses a quota above the hardware: Kueue would admit what can never be scheduled.
func (a Args) validateTotals() error { return a.validateQuotas("queues.quota", a.Quota, boundHardware) }

// validateSums refuses teams' quotas that add up to more than there is to divide.
func (a Args) validateSums() error {
	var errs []error
	for _, p := range a.Ordered() {
		total := a.total(p)
		for _, d := range dimensions {
			sum, parts, single := int64(0), []string{}, false
			for _, name := range a.Teams.Names() {
				v := d.asked(a.Teams[name].Quota[p.Name])
				if v == nil || v.Sign() <= 0 {
					continue
				}
				n := d.count(*v)
				// Who asks for more than all is told so by itself.
				single = single || n > *d.of(&total)
				sum += min(n, *d.of(&total))
				parts = append(parts, fmt.Sprintf("%s %s", name, v))
			}
			if !single && len(parts) > 1 && sum > *d.of(&total) {
				asked, has := d.quantity(sum), d.quantity(*d.of(&total))
				errs = append(errs, fmt.Errorf("queues.teams: the quotas of %s of pool %s add up to %s (%s), and there are %s to divide",
					d.key, p.Name, asked.String(), strings.Join(parts, ", "), has.String()))
			}
		}
	}
	return errors.Join(errs...)
}
