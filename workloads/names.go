package workloads

import "ray-on-aks/internal/strict"

// unknownName is the error for a name of a kind of thing that does not exist.
func unknownName(kind, name string, known []string) error { return strict.Unknown(kind, name, known) }
