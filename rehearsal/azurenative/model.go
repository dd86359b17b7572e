package azurenative

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"ray-on-aks/rehearsal/provider"
)

// topLevelOnlyRead are the fields of an ARM model's envelope that no request
// sets; the Pulumi key `type` of an agent pool, for one, means the field of the
// same name among its properties.
var topLevelOnlyRead = map[string]bool{"id": true, "name": true, "type": true, "systemdata": true, "etag": true}

// field is one field of a Microsoft SDK model.
type field struct {
	json string
	typ  reflect.Type
}

// modelFields caches the fields of a model by their Go name in lower case: the
// Go SDK and Pulumi rename the same properties in the same way (networkAcls is
// NetworkRuleSet and networkRuleSet) and differ only in the case of acronyms.
var modelFields sync.Map // reflect.Type → map[string]field

// fieldsOf learns the JSON name of each field of a model by encoding a value
// in which only that field is set: the models carry no tags.
func fieldsOf(model reflect.Type) (map[string]field, error) {
	if known, ok := modelFields.Load(model); ok {
		return known.(map[string]field), nil
	}
	constants, err := encodedKeys(reflect.New(model).Elem())
	if err != nil {
		return nil, err
	}
	fields := map[string]field{}
	for i := range model.NumField() {
		declared := model.Field(i)
		value := reflect.New(model).Elem()
		if err := set(value.Field(i)); err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", declared.Name, model, err)
		}
		keys, err := encodedKeys(value)
		if err != nil {
			return nil, err
		}
		name := declared.Name
		for key := range keys {
			// A model that writes one field always, whatever its value, has
			// that one among the constants under its own name.
			if !constants[key] || strings.EqualFold(key, declared.Name) {
				name = key
			}
		}
		fields[strings.ToLower(declared.Name)] = field{json: name, typ: declared.Type}
	}
	modelFields.Store(model, fields)
	return fields, nil
}

// set gives a field of a model some value that is not nil.
func set(value reflect.Value) error {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 0, 0))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
	case reflect.Interface:
		value.Set(reflect.ValueOf(true))
	default:
		return fmt.Errorf("a model with a field of type %s", value.Type())
	}
	return nil
}

func encodedKeys(model reflect.Value) (map[string]bool, error) {
	data, err := json.Marshal(model.Interface())
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", model.Type(), err)
	}
	var encoded map[string]json.RawMessage
	if err := json.Unmarshal(data, &encoded); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", model.Type(), err)
	}
	keys := make(map[string]bool, len(encoded))
	for key := range encoded {
		keys[key] = true
	}
	return keys, nil
}

// nester turns Pulumi inputs into an ARM request body and remembers which
// Pulumi path became which ARM path.
type nester struct{ pulumiPath map[string]string }

// body nests inputs, without the parameters of the path, into the body of
// model: what the envelope has (location, tags, sku, …) stays on top, the rest
// goes below properties.
func (n nester) body(model reflect.Type, inputs map[string]any, pathParameters map[string]bool) (map[string]any, error) {
	envelope, err := fieldsOf(model)
	if err != nil {
		return nil, err
	}
	top, nested := map[string]any{}, map[string]any{}
	for key, value := range inputs {
		lower := strings.ToLower(key)
		_, onTop := envelope[lower]
		switch {
		case pathParameters[key]:
		case onTop && !topLevelOnlyRead[lower]:
			top[key] = value
		default:
			nested[key] = value
		}
	}
	out, err := n.object(model, top, "", "")
	if err != nil || len(nested) == 0 {
		return out, err
	}
	// Nothing nests in some types: there the decoder will drop the keys and so
	// show them.
	properties := field{json: "properties", typ: reflect.TypeFor[struct{}]()}
	for _, candidate := range envelope {
		if candidate.json == properties.json {
			properties = candidate
		}
	}
	below, err := n.object(indirect(properties.typ), nested, "", properties.json)
	out[properties.json] = below
	return out, err
}

func (n nester) object(model reflect.Type, value map[string]any, pulumi, arm string) (map[string]any, error) {
	fields, err := fieldsOf(model)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(value))
	for key, item := range value {
		known, ok := fields[strings.ToLower(key)]
		if !ok {
			known = field{json: key}
		}
		below := join(arm, known.json)
		n.pulumiPath[below] = join(pulumi, key)
		nested, given, err := n.value(known.typ, item, join(pulumi, key), below)
		if err != nil {
			return nil, err
		}
		if given {
			out[known.json] = nested
		}
	}
	return out, nil
}

// value nests one value; given is false where it is not known yet.
func (n nester) value(typ reflect.Type, value any, pulumi, arm string) (nested any, given bool, err error) {
	if _, unknown := value.(provider.Unknown); unknown {
		return nil, false, nil
	}
	typ = indirect(typ)
	switch value := value.(type) {
	case map[string]any:
		if typ != nil && typ.Kind() == reflect.Struct {
			nested, err = n.object(typ, value, pulumi, arm)
			return nested, true, err
		}
		return n.mapped(elementOf(typ), value, pulumi, arm)
	case []any:
		if typ != nil && typ.Kind() == reflect.Map {
			return n.idSet(value, pulumi, arm), true, nil
		}
		out := make([]any, len(value))
		for i, item := range value {
			at := fmt.Sprintf("[%d]", i)
			n.pulumiPath[arm+at] = pulumi + at
			// An item that is not known yet is null, so that the others keep
			// their index.
			if out[i], _, err = n.value(elementOf(typ), item, pulumi+at, arm+at); err != nil {
				return nil, false, err
			}
		}
		return out, true, nil
	default:
		return value, true, nil
	}
}

func (n nester) mapped(element reflect.Type, value map[string]any, pulumi, arm string) (any, bool, error) {
	out := make(map[string]any, len(value))
	for key, item := range value {
		n.pulumiPath[join(arm, key)] = join(pulumi, key)
		nested, given, err := n.value(element, item, join(pulumi, key), join(arm, key))
		if err != nil {
			return nil, false, err
		}
		if given {
			out[key] = nested
		}
	}
	return out, true, nil
}

// idSet turns a list of ids into the map of empty objects that ARM wants, as
// azure-native does for userAssignedIdentities.
func (n nester) idSet(ids []any, pulumi, arm string) map[string]any {
	out := map[string]any{}
	for i, id := range ids {
		if id, ok := id.(string); ok {
			n.pulumiPath[join(arm, id)] = fmt.Sprintf("%s[%d]", pulumi, i)
			out[id] = map[string]any{}
		}
	}
	return out
}

func indirect(typ reflect.Type) reflect.Type {
	if typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == reflect.TypeFor[time.Time]() {
		return nil
	}
	return typ
}

func elementOf(typ reflect.Type) reflect.Type {
	if typ == nil || typ.Kind() != reflect.Slice && typ.Kind() != reflect.Map {
		return nil
	}
	return typ.Elem()
}
