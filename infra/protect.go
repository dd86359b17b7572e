package infra

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"
)

// What can be protected, as allowReplace names it; a pool is protectPool and its name.
const (
	protectCluster = "cluster"
	protectStorage = "storage"
	protectPool    = "pools."
)

// protects says whether Pulumi is to refuse to delete or replace what is named. Pools go with their cluster, so they are let go with it.
func (a Args) protects(name string) bool {
	allowed := slices.Contains(a.AllowReplace, name) ||
		strings.HasPrefix(name, protectPool) && slices.Contains(a.AllowReplace, protectCluster)
	return a.Protect && !allowed
}

func (a Args) validateAllowReplace(path string) error {
	known, pools := []string{protectCluster}, strict.Without(a.Pools.Names(), a.Refused())
	for _, name := range pools {
		known = append(known, protectPool+name)
	}
	known = append(known, protectStorage)
	left := strict.Without(known, a.AllowReplace)
	return errors.Join(strict.Each(path, a.AllowReplace, func(at, name string) error {
		pool, isPool := strings.CutPrefix(name, protectPool)
		if slices.Contains(known, name) || isPool && strict.Same(pool, a.Refused()) {
			return nil
		}
		hint := strict.Hint(name, left)
		if slices.Contains(pools, name) && !slices.Contains(a.AllowReplace, protectPool+name) {
			hint = "; did you mean " + protectPool + name + "?"
		}
		if isPool {
			hint = ""
			if near := strict.Nearest(pool, pools); near != "" {
				hint = "; did you mean " + protectPool + near + "?"
			}
			// The state holds the protection of a pool until an `up` that names it.
			hint += "; to take a pool out, name it here in one `up` while infra.pools has it, and then take both out"
		}
		return fmt.Errorf("%s: %q names nothing that is protected%s", at, name, hint)
	})...)
}
