package workloads

import (
	"encoding/json"
	"maps"
	"slices"

	"ray-on-aks/internal/strict"
)

// Declared are workloads by name. It is the stack's `workloads` object; names of the catalog stand for its entries.
type Declared map[string]Workload

// UnmarshalJSON decodes onto the catalog's entry of the same name, or onto the kind's defaults, so that a stack file says only what
// differs: objects are merged key by key, lists are replaced.
func (d *Declared) UnmarshalJSON(data []byte) error {
	return strict.Merge(d, data, func(w Workload, known bool, value json.RawMessage) (Workload, error) {
		if known {
			// The catalog's own map and list must not be written to.
			w.Env, w.Storage = maps.Clone(w.Env), slices.Clone(w.Storage)
			return w, nil
		}
		var is struct {
			Kind Kind `json:"kind"`
		}
		err := json.Unmarshal(value, &is)
		return defaults(is.Kind), err
	})
}

// Names lists the workloads in a fixed order.
func (d Declared) Names() []string { return slices.Sorted(maps.Keys(d)) }

// enabled lists the names of those that run, in a fixed order.
func (d Declared) enabled() []string {
	return slices.DeleteFunc(d.Names(), func(name string) bool { return !d[name].Enabled })
}
