package queues

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/strict"

	"k8s.io/apimachinery/pkg/api/resource"
)

// bound is the most that a quota may say, and in words what that is.
type bound func(a Args, p Pool) (sku.Resources, string)

func boundHardware(_ Args, p Pool) (sku.Resources, string) {
	words := fmt.Sprintf("%d nodes of the pool can allocate", p.Nodes)
	if p.Reserved != (sku.Resources{}) {
		words += " beside the services on it"
	}
	return p.available(), words
}

func boundTotal(a Args, p Pool) (sku.Resources, string) {
	if _, ok := a.Quota[p.Name]; !ok {
		return boundHardware(a, p)
	}
	return a.total(p), "queues.quota." + p.Name + " has for all teams"
}

func boundLimit(a Args, p Pool) (sku.Resources, string) {
	most, words := boundHardware(a, p)
	return most, words + "; leave it out for no limit"
}

// validateQuotas checks quotas by pool.
func (a Args) validateQuotas(path string, quotas map[string]Quota, most bound) error {
	known := map[string]Pool{}
	for _, p := range a.Pools {
		known[p.Name] = p
	}
	names := slices.Sorted(maps.Keys(known))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(quotas)) {
		pool, ok := known[name]
		if ok {
			errs = append(errs, a.validateQuota(path+"."+name, quotas[name], pool, most))
			continue
		}
		if strict.Same(name, a.RefusedPools) {
			continue
		}
		// Only of what is not limited yet, and would take this limit.
		would := slices.DeleteFunc(strict.Without(names, a.RefusedPools), func(n string) bool {
			_, taken := quotas[n]
			return taken || a.validateQuota("", quotas[name], known[n], most) != nil
		})
		hint := strict.Hint(name, would)
		if len(would) == 0 {
			hint = "; leave it out, or say it of one that is: " + strict.List(strict.Without(names, a.RefusedPools))
		}
		errs = append(errs, fmt.Errorf("%s.%s: there is no pool of that name behind the queues%s", path, name, hint))
	}
	return errors.Join(errs...)
}

func (a Args) validateQuota(path string, q Quota, p Pool, most bound) error {
	limit, words := most(a, p)
	var errs []error
	for _, d := range dimensions {
		v := d.asked(q)
		if v == nil {
			continue
		}
		if err := d.checkUnit(*v); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s: %w, got %s", path, d.key, err, v))
			continue
		}
		// As quantities: as a number, one that is too large would be another.
		if end := d.quantity(*d.of(&limit)); v.Cmp(end) > 0 {
			errs = append(errs, fmt.Errorf("%s.%s: %s is more than the %s that %s", path, d.key, v, end.String(), words))
		}
	}
	return errors.Join(errs...)
}

// checkUnit refuses what would be rounded to something else than was written.
func (d dimension) checkUnit(v resource.Quantity) error {
	switch {
	case v.Sign() < 0:
		return errors.New("must not be negative")
	case d.key == dimCPU.key && v.Cmp(*resource.NewMilliQuantity(bounded(v, resource.Milli), resource.DecimalSI)) < 0:
		return errors.New("must be in whole thousandths of a core")
	case d.key == dimMemory.key && v.Sign() > 0 && v.Cmp(*resource.NewQuantity(1<<20, resource.BinarySI)) < 0:
		return errors.New("must be at least 1Mi, or 0; 24Gi is twenty-four gibibytes")
	}
	return nil
}
