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
	known := []string{protectCluster}
	for _, name := range a.Pools.Names() {
		known = append(known, protectPool+name)
	}
	known = append(known, protectStorage)
	left := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(a.AllowReplace, name) })
	return errors.Join(strict.Each(path, a.AllowReplace, func(at, name string) error {
		if slices.Contains(known, name) {
			return nil
		}
		return fmt.Errorf("%s: %q names nothing that is protected%s", at, name, strict.Hint(name, left))
	})...)
}
