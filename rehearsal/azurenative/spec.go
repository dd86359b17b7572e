package azurenative

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/provider"
)

// spec is what is particular to one emulated type.
type spec struct {
	// armType is the type as ARM reports it.
	armType string
	// id and parent are ids over the inputs and {subscriptionId}. An empty
	// parent always exists.
	id, parent string
	// nameKey is the input that names the resource.
	nameKey  string
	autoName func(logical string, seed []byte) (string, error)
	// hidden are inputs that the outputs do not echo although they are in the
	// body; reshaped are ones that they report in another shape.
	hidden    []string
	reshaped  []string
	replaceOn []string
	names     map[string]nameRule
	extra     func(inputs map[string]any) []provider.Problem

	// outputs answers what the cloud adds to the inputs.
	outputs func(write) map[string]any
	// allow can refuse a write that the rest of the cloud does not permit.
	allow func(write) error
	// allowDelete can refuse a deletion.
	allowDelete func(resources cloud.Resources, id string) error
	// singleton comes and goes with its parent: creating it sets it, deleting
	// it puts the defaults back and leaves alone what lies below.
	singleton bool
	// exclusive answers a key of which only one write may be in flight.
	exclusive func(id string) string
}

// write is one create or update under way.
type write struct {
	resources cloud.Resources
	id        string
	inputs    map[string]any
	// old is the live state, nil where the resource is being created.
	old map[string]any
	// config of the provider.
	config config
}

// config is the provider's configuration.
type config struct{ subscription, tenant, location string }

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// pathKeys are the inputs that make the id.
func (s spec) pathKeys() []string {
	var keys []string
	for _, match := range placeholder.FindAllStringSubmatch(s.id, -1) {
		if match[1] != "subscriptionId" {
			keys = append(keys, match[1])
		}
	}
	return keys
}

// fill puts inputs into an id's placeholders.
func (c config) fill(template string, inputs map[string]any) (string, error) {
	var missing []string
	id := placeholder.ReplaceAllStringFunc(template, func(match string) string {
		key := strings.Trim(match, "{}")
		if key == "subscriptionId" {
			return c.subscription
		}
		value, ok := inputs[key].(string)
		if !ok {
			missing = append(missing, key)
		}
		return strings.TrimSuffix(value, "/")
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("emulated azure-native: the id lacks %s", strings.Join(missing, ", "))
	}
	return id, nil
}

// ID is the ARM id that a resource of the type gets in the subscription.
func ID(token, subscription string, inputs map[string]any) (string, error) {
	spec, ok := specs[token]
	if !ok {
		return "", fmt.Errorf("the emulated cloud has no type %s", token)
	}
	return config{subscription: subscription}.fill(spec.id, inputs)
}

// live computes the whole state after a write: the inputs that are in the
// body, over what the cloud adds.
func (s spec) live(w write) map[string]any {
	out := s.body(w.inputs)
	for _, key := range s.reshaped {
		delete(out, key)
	}
	if location, ok := out["location"].(string); ok {
		out["location"] = canonicalLocation(location)
	}
	underlay(out, map[string]any{"name": lastSegment(w.id), "type": s.armType, "provisioningState": "Succeeded"})
	if s.outputs != nil {
		underlay(out, s.outputs(w))
	}
	return out
}

// body is the part of the inputs that the outputs echo.
func (s spec) body(inputs map[string]any) map[string]any {
	out := maps.Clone(inputs)
	for _, key := range slices.Concat(s.pathKeys(), s.hidden) {
		delete(out, key)
	}
	return out
}

// underlay adds to out what it lacks of defaults, at every depth of objects.
// Objects that out shares with the inputs are copied first.
func underlay(out, defaults map[string]any) {
	for key, value := range defaults {
		existing, given := out[key]
		if !given {
			out[key] = value
			continue
		}
		object, isObject := existing.(map[string]any)
		below, hasBelow := value.(map[string]any)
		if isObject && hasBelow {
			copied := maps.Clone(object)
			underlay(copied, below)
			out[key] = copied
		}
	}
}

// find looks an id up as ARM does, whatever its case.
func find(resources cloud.Resources, id string) (cloud.Record, string, bool) {
	if record, ok := resources[id]; ok {
		return record, id, true
	}
	for known, record := range resources {
		if strings.EqualFold(known, id) {
			return record, known, true
		}
	}
	return cloud.Record{}, "", false
}

// below answers the ids of what lies under id, sorted.
func below(resources cloud.Resources, id string) []string {
	prefix := strings.ToLower(id) + "/"
	var ids []string
	for known := range resources {
		if strings.HasPrefix(strings.ToLower(known), prefix) {
			ids = append(ids, known)
		}
	}
	slices.Sort(ids)
	return ids
}

func lastSegment(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// canonicalLocation is how ARM reports a location: "East US 2" is eastus2.
func canonicalLocation(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

func text(values map[string]any, key string) string {
	value, _ := values[key].(string)
	return value
}

func object(values map[string]any, key string) map[string]any {
	value, _ := values[key].(map[string]any)
	return value
}

func list(values map[string]any, key string) []any {
	value, _ := values[key].([]any)
	return value
}
