package azurenative

import (
	"context"
	"reflect"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/provider"
)

// read reports the live record. Its inputs are the engine's with what has
// changed in the cloud since the engine last looked, as azure-native does it:
// an unchanged record gives the inputs back untouched, and an edit of the
// cloud's file shows as a difference.
func (r lifecycle) read(ctx context.Context, id string, inputs, state map[string]any) (provider.Live, error) {
	if err := r.fault(ctx, "read", id, false); err != nil {
		return provider.Live{}, err
	}
	var live provider.Live
	err := r.store.View(func(resources cloud.Resources) error {
		record, existing, ok := find(resources, id)
		if !ok || record.Type != r.token {
			return nil
		}
		if len(inputs) == 0 { // an import: the last write is all there is to go by
			inputs = record.Inputs
			state = r.spec.live(write{resources: resources, id: existing,
				inputs: r.located(resources, inputs), old: record.Outputs, config: r.config})
		}
		live = provider.Live{Found: true, Outputs: record.Outputs, Inputs: r.drifted(inputs, state, record.Outputs)}
		return nil
	})
	return live, err
}

// drifted applies to inputs what differs between the last known state and the
// live one, as far as it is something that a program can say.
func (r lifecycle) drifted(inputs, state, live map[string]any) map[string]any {
	comparable := map[string]bool{}
	for key := range r.table.Types[r.table.Roots[r.token]] {
		comparable[key] = true
	}
	for _, key := range append(r.spec.pathKeys(), r.spec.hidden...) {
		delete(comparable, key)
	}
	out := map[string]any{}
	for key, value := range inputs {
		if !comparable[key] {
			out[key] = value
		}
	}
	for key := range comparable {
		if value, ok := mergeDrift(inputs[key], state[key], live[key]); ok {
			out[key] = value
		}
	}
	// Read-only properties within objects are no inputs; neither is what the
	// cloud reports in another shape.
	writable := checker{table: r.table}
	return writable.object("", r.table.Roots[r.token], out)
}

// mergeDrift answers given, changed as was changed into is; ok is false where
// nothing is left. An absent value is nil. Objects merge by key, lists of one
// length by index; else is replaces given.
func mergeDrift(given, was, is any) (merged any, ok bool) {
	if reflect.DeepEqual(was, is) {
		return given, given != nil
	}
	switch is := is.(type) {
	case map[string]any:
		wasObject, wasFits := was.(map[string]any)
		givenObject, givenFits := given.(map[string]any)
		if !wasFits && was != nil || !givenFits && given != nil {
			break
		}
		out := map[string]any{}
		for key := range union(givenObject, wasObject, is) {
			if value, kept := mergeDrift(givenObject[key], wasObject[key], is[key]); kept {
				out[key] = value
			}
		}
		return out, given != nil || len(out) > 0
	case []any:
		wasList, wasFits := was.([]any)
		givenList, givenFits := given.([]any)
		if !wasFits || !givenFits || len(wasList) != len(is) || len(givenList) != len(is) {
			break
		}
		out := make([]any, len(is))
		for i := range is {
			// An item that is gone at its index is nil here, as it is there.
			item, _ := mergeDrift(givenList[i], wasList[i], is[i])
			out[i] = item
		}
		return out, true
	}
	return is, is != nil
}

func union(objects ...map[string]any) map[string]bool {
	keys := map[string]bool{}
	for _, object := range objects {
		for key := range object {
			keys[key] = true
		}
	}
	return keys
}
