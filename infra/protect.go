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
		if slices.Contains(known, name) {
			continue
		}
		msg := fmt.Sprintf("%s[%d]: %q names nothing that is protected; known are %s", path, i, name, strings.Join(known, ", "))
		if near := strict.Nearest(name, known); near != "" {
			msg += fmt.Sprintf("; did you mean %s?", near)
		}
		errs = append(errs, errors.New(msg))
	}
	return errors.Join(errs...)
}
