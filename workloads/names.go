package workloads

import (
	"fmt"
	"strings"

	"ray-on-aks/internal/strict"
)

// unknownName is the error for a name of a kind of thing that does not exist.
func unknownName(kind, name string, known []string) error {
	if near := strict.Nearest(name, known); near != "" {
		return fmt.Errorf("there is no %s %q; did you mean %s?", kind, name, near)
	}
	return fmt.Errorf("there is no %s %q, only %s", kind, name, listed(known))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
