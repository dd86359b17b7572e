package azurenative

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"
	"ray-on-aks/rehearsal/provider"
)

// roundTrip nests inputs into the ARM body of model, decodes that into
// Microsoft's model, encodes it again and answers what did not survive: the
// models drop unknown keys without a word. It also checks every enum value.
func roundTrip(model reflect.Type, inputs map[string]any, pathParameters map[string]bool) ([]provider.Problem, error) {
	nest := nester{pulumiPath: map[string]string{}}
	body, err := nest.body(model, inputs, pathParameters)
	if err != nil {
		return nil, err
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	decoded := reflect.New(model)
	if err := json.Unmarshal(sent, decoded.Interface()); err != nil {
		return []provider.Problem{{Path: "", Reason: "does not decode as " + model.String() + ": " + err.Error()}}, nil //nolint:nilerr // the error is the answer
	}
	kept, err := json.Marshal(decoded.Interface())
	if err != nil {
		return nil, fmt.Errorf("encoding the model: %w", err)
	}
	var before, after map[string]any
	if err := json.Unmarshal(sent, &before); err != nil {
		return nil, fmt.Errorf("decoding the request: %w", err)
	}
	if err := json.Unmarshal(kept, &after); err != nil {
		return nil, fmt.Errorf("decoding the model: %w", err)
	}
	compare := comparison{nest: nest}
	compare.object("", before, after)
	if err := compare.enums("", decoded.Elem()); err != nil {
		return nil, err
	}
	slices.SortFunc(compare.problems, func(a, b provider.Problem) int { return strings.Compare(a.Path, b.Path) })
	return compare.problems, nil
}

type comparison struct {
	nest     nester
	problems []provider.Problem
}

func (c *comparison) report(arm, format string, args ...any) {
	path, ok := c.nest.pulumiPath[arm]
	if !ok {
		path = arm
	}
	c.problems = append(c.problems, provider.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

func (c *comparison) object(path string, before, after map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		at := join(path, key)
		survived, ok := after[key]
		if !ok {
			c.report(at, "is unknown to this version of the Azure API%s", suggest(key, slices.Sorted(maps.Keys(after))))
			continue
		}
		c.value(at, before[key], survived)
	}
}

func (c *comparison) value(path string, before, after any) {
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			c.object(path, before, after)
			return
		}
	case []any:
		if after, ok := after.([]any); ok && len(after) == len(before) {
			for i := range before {
				c.value(fmt.Sprintf("%s[%d]", path, i), before[i], after[i])
			}
			return
		}
	default:
		if before == after {
			return
		}
	}
	c.report(path, "becomes %v in the Azure API", after)
}

// enums walks a decoded model and checks every value of a named string type
// against the values that Microsoft's SDK lists for it.
func (c *comparison) enums(path string, value reflect.Value) error {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return c.enums(path, value.Elem())
	case reflect.Slice:
		for i := range value.Len() {
			if err := c.enums(fmt.Sprintf("%s[%d]", path, i), value.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			if err := c.enums(join(path, key.String()), value.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return c.structEnums(path, value)
	case reflect.String:
		if value.Type() != reflect.TypeFor[string]() {
			return c.enum(path, value)
		}
	}
	return nil
}

func (c *comparison) structEnums(path string, value reflect.Value) error {
	if indirect(value.Type()) == nil {
		return nil
	}
	fields, err := fieldsOf(value.Type())
	if err != nil {
		return err
	}
	for i := range value.NumField() {
		name := fields[strings.ToLower(value.Type().Field(i).Name)].json
		if err := c.enums(join(path, name), value.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparison) enum(path string, value reflect.Value) error {
	allowed, ok := enums[value.Type()]
	if !ok {
		return fmt.Errorf("the values of %s are not listed", value.Type())
	}
	if slices.Contains(allowed, value.String()) {
		return nil
	}
	hint := ""
	if near := strict.Nearest(value.String(), allowed); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	c.report(path, "must be one of %s, got %q%s", strings.Join(allowed, ", "), value.String(), hint)
	return nil
}
