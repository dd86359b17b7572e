package workloads

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Declared are workloads by name. It is the stack's `workloads` object; names of the catalog stand for its entries.
type Declared map[string]Workload

// UnmarshalJSON decodes onto the catalog's entry of the same name, or onto the kind's defaults, so that a stack file says only what
// differs: objects are merged key by key, lists are replaced.
func (d *Declared) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	merged := maps.Clone(*d)
	if merged == nil {
		merged = Declared{}
	}
	for name, fields := range raw {
		w, ok := merged[name]
		if !ok {
			var is struct {
				Kind Kind `json:"kind"`
			}
			if err := json.Unmarshal(fields, &is); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			w = defaults(is.Kind)
		}
		// The catalog's own map and list must not be written to.
		w.Env, w.Storage = maps.Clone(w.Env), slices.Clone(w.Storage)
		if err := json.Unmarshal(fields, &w); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		merged[name] = w
	}
	*d = merged
	return nil
}

// Names lists the workloads in a fixed order.
func (d Declared) Names() []string { return slices.Sorted(maps.Keys(d)) }

// enabled lists the names of those that run, in a fixed order.
func (d Declared) enabled() []string {
	return slices.DeleteFunc(d.Names(), func(name string) bool { return !d[name].Enabled })
}
