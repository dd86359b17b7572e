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
	var errs []error
	for i, name := range a.AllowReplace {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("%s[%d]: %q names nothing that is protected%s", path, i, name, strict.Hint(name, known)))
		}
	}
	return errors.Join(errs...)
}
