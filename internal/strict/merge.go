package strict

import (
	"encoding/json"
	"fmt"
	"maps"
)

// Merge decodes a JSON object onto the entries that are there, so that it has to say only what differs. onto is given the entry of each
// name, or a zero one where there is none, and returns what the name's value is decoded onto. The map is replaced and never written to,
// since others may hold it; what an entry refers to is onto's to copy.
func Merge[M ~map[string]V, V any](entries *M, data []byte, onto func(entry V, known bool, value json.RawMessage) (V, error)) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	merged := maps.Clone(*entries)
	if merged == nil {
		merged = M{}
	}
	for name, value := range raw {
		entry, known := merged[name]
		entry, err := onto(entry, known, value)
		if err == nil {
			err = json.Unmarshal(value, &entry)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		merged[name] = entry
	}
	*entries = merged
	return nil
}
