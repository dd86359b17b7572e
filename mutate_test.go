package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"ray-on-aks/infra"
	"ray-on-aks/internal/strict"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"
)

// mutated decodes a stack's config and changes it as the script's bytes say: each step takes a place in it and does something there. A
// change of bytes would hardly ever leave a stack that is read to its end.
func mutated(t *testing.T, text string, script []byte) map[string]string {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	m := &mutator{script: script, tree: tree}
	for len(m.script) > 0 {
		m.step()
	}
	config := map[string]string{}
	for key, value := range m.tree {
		if text, ok := value.(string); ok {
			config[key] = text
			continue
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		config[key] = string(data)
	}
	return config
}

// mutator changes a tree by what its script says.
type mutator struct {
	script []byte
	tree   map[string]any
}

// place is an object or a list in the tree, what it is decoded into where that is known, and one of its keys.
type place struct {
	in  any
	as  reflect.Type
	key any
}

// next takes a number below n from the script. A script that has ended says 0.
func (m *mutator) next(n int) int {
	if len(m.script) == 0 || n < 1 {
		return 0
	}
	b := int(m.script[0])
	m.script = m.script[1:]
	if n > 256 && len(m.script) > 0 {
		b = b<<8 | int(m.script[0])
		m.script = m.script[1:]
	}
	return b % n
}

// parts are what the keys of a stack are decoded into.
var parts = map[string]reflect.Type{
	"ray-on-aks:infra": reflect.TypeFor[infra.Args](), "ray-on-aks:queues": reflect.TypeFor[queues.Args](), "ray-on-aks:workloads": reflect.TypeFor[workloads.Declared](),
}

// places lists all places of the tree, in a fixed order.
func (m *mutator) places() []place {
	var all []place
	var walk func(value any, as reflect.Type)
	walk = func(value any, as reflect.Type) {
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				all = append(all, place{v, as, key})
				walk(v[key], childType(as, key))
			}
		case []any:
			for i := range v {
				all = append(all, place{v, as, i})
				walk(v[i], nil)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.tree)) {
		all = append(all, place{m.tree, nil, key})
		walk(m.tree[key], parts[key])
	}
	return all
}

// childType is what the value of a key is decoded into; nil where that is not known.
func childType(as reflect.Type, key string) reflect.Type {
	switch {
	case as == nil:
		return nil
	case as.Kind() == reflect.Pointer:
		return childType(as.Elem(), key)
	case as.Kind() == reflect.Map:
		return as.Elem()
	case as.Kind() == reflect.Struct:
		if field, ok := strict.Fields(as)[key]; ok {
			return field.Type
		}
	}
	return nil
}

// step does one thing at one place.
func (m *mutator) step() {
	places := m.places()
	if len(places) == 0 {
		m.script = nil
		return
	}
	p := places[m.next(len(places))]
	operation := m.next(16)
	if list, ok := p.in.([]any); ok {
		i, _ := p.key.(int)
		list[i] = m.value(list[i], operation)
		return
	}
	object, _ := p.in.(map[string]any)
	key, _ := p.key.(string)
	switch operation {
	case 0:
		delete(object, key)
	case 1:
		value := object[key]
		delete(object, key)
		object[m.name(key)] = value
	case 2:
		object[m.name(key)] = clone(object[key])
	case 3:
		object[m.known(p.as, key)] = m.value(object[key], operation)
	case 4, 10, 11, 12, 13, 14, 15:
		// Of the right kind, or what is checked after that would hardly be reached.
		known := m.known(p.as, key)
		object[known] = m.typed(childType(p.as, known), object[known], 2)
	case 5:
		from := places[m.next(len(places))]
		if source, ok := from.in.(map[string]any); ok {
			name, _ := from.key.(string)
			object[key] = clone(source[name])
		}
	default:
		object[key] = m.value(object[key], operation)
	}
}

// known is a key that such an object may have.
func (m *mutator) known(as reflect.Type, otherwise string) string {
	if as == nil || as.Kind() != reflect.Struct {
		if m.next(2) == 0 {
			return otherwise
		}
		return m.name(otherwise)
	}
	keys := slices.Sorted(maps.Keys(strict.Fields(as)))
	if len(keys) == 0 {
		return otherwise
	}
	return keys[m.next(len(keys))]
}
