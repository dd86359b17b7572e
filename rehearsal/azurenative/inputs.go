package azurenative

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/provider"
)

// inputsJSON is what the azure-native Go SDK accepts, read out of the SDK's own
// sources by TestInputTable: per type the keys and their types, in the notation
// of inputType.
//
//go:embed inputs.json
var inputsJSON []byte

// inputTable is inputs.json.
type inputTable struct {
	// Modules are the SDK modules that the table was read from.
	Modules map[string]string `json:"modules"`
	// Roots names the arguments' type of each resource token.
	Roots map[string]string `json:"roots"`
	// Types holds key → type of each object type.
	Types map[string]map[string]inputType `json:"types"`
}

// inputType is string, int, bool, number or any; a name in Types; []T; or
// map[]T. A trailing ! says that the key is required.
type inputType string

func (t inputType) required() bool      { return strings.HasSuffix(string(t), "!") }
func (t inputType) optional() inputType { return inputType(strings.TrimSuffix(string(t), "!")) }

// kind splits t into list, map or plain and the type of its elements.
func (t inputType) kind() (kind string, element inputType) {
	bare := string(t.optional())
	if rest, ok := strings.CutPrefix(bare, "[]"); ok {
		return "list", inputType(rest)
	}
	if rest, ok := strings.CutPrefix(bare, "map[]"); ok {
		return "map", inputType(rest)
	}
	return "plain", inputType(bare)
}

func loadInputTable() (inputTable, error) {
	var table inputTable
	if err := json.Unmarshal(inputsJSON, &table); err != nil {
		return inputTable{}, fmt.Errorf("decoding the table of inputs: %w", err)
	}
	return table, nil
}

// checker walks inputs along the table and gathers what does not fit.
type checker struct {
	table    inputTable
	problems []provider.Problem
}

func (c *checker) report(path, format string, args ...any) {
	c.problems = append(c.problems, provider.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// object checks value against a named type and answers a copy without what was
// refused, so that later checks speak only of the rest.
func (c *checker) object(path, typ string, value map[string]any) map[string]any {
	fields := c.table.Types[typ]
	kept := make(map[string]any, len(value))
	for _, key := range slices.Sorted(maps.Keys(value)) {
		at := join(path, key)
		field, ok := fields[key]
		if !ok {
			c.unknownKey(path, typ, key)
			continue
		}
		if field == "string!" && value[key] == "" {
			c.report(at, "must not be empty")
			continue
		}
		if fit, ok := c.value(at, field, value[key]); ok {
			kept[key] = fit
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if _, given := value[key]; !given && fields[key].required() {
			c.report(join(path, key), "is required")
		}
	}
	return kept
}

func (c *checker) unknownKey(path, typ, key string) {
	c.report(join(path, key), "is not a property of %s in this API version%s", typ[strings.Index(typ, ":")+1:],
		suggest(key, slices.Sorted(maps.Keys(c.table.Types[typ]))))
}

func (c *checker) value(path string, typ inputType, value any) (any, bool) {
	if _, unknown := value.(provider.Unknown); unknown {
		return value, true
	}
	kind, element := typ.kind()
	if kind == "list" {
		list, ok := value.([]any)
		if !ok {
			return c.mismatch(path, "a list", value)
		}
		kept := make([]any, len(list))
		for i, item := range list {
			// What was refused leaves a hole: the other items keep their index.
			if fit, ok := c.value(fmt.Sprintf("%s[%d]", path, i), element, item); ok {
				kept[i] = fit
			}
		}
		return kept, true
	}
	object, isObject := value.(map[string]any)
	_, named := c.table.Types[string(element)]
	switch {
	case kind == "plain" && !named:
		return c.scalar(path, element, value)
	case !isObject:
		return c.mismatch(path, "an object", value)
	case named && kind == "plain":
		return c.object(path, string(element), object), true
	}
	kept := make(map[string]any, len(object))
	for key, item := range object {
		if fit, ok := c.value(join(path, key), element, item); ok {
			kept[key] = fit
		}
	}
	return kept, true
}

func (c *checker) scalar(path string, typ inputType, value any) (any, bool) {
	switch typ {
	case "string":
		if _, ok := value.(string); !ok {
			return c.mismatch(path, "a string", value)
		}
	case "bool":
		if _, ok := value.(bool); !ok {
			return c.mismatch(path, "a boolean", value)
		}
	case "number", "int":
		number, ok := value.(float64)
		if !ok {
			return c.mismatch(path, "a number", value)
		}
		if typ == "int" && (number != math.Trunc(number) || math.Abs(number) > math.MaxInt32) {
			c.report(path, "must be a whole number of 32 bits, got %v", number)
			return nil, false
		}
	}
	return value, true
}

func (c *checker) mismatch(path, want string, value any) (any, bool) {
	got := fmt.Sprintf("%v", value)
	switch value := value.(type) {
	case string:
		got = fmt.Sprintf("the string %q", value)
	case bool:
		got = fmt.Sprintf("the boolean %v", value)
	case float64:
		got = fmt.Sprintf("the number %v", value)
	case []any:
		got = "a list"
	case map[string]any:
		got = "an object"
	case nil:
		got = "nothing"
	}
	c.report(path, "must be %s, got %s", want, got)
	return nil, false
}
