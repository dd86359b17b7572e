package azurenative

import (
	"reflect"
	"strings"
	"testing"

	"ray-on-aks/rehearsal/provider"
)

// Every key that the Pulumi SDK has must arrive in Microsoft's model: this is
// what keeps the two, and the nesting between them, in step.
func TestEveryInputSurvivesTheModel(t *testing.T) {
	table, err := loadInputTable()
	if err != nil {
		t.Fatal(err)
	}
	for token, spec := range specs {
		path := map[string]bool{}
		for _, key := range spec.pathKeys() {
			path[key] = true
		}
		sample := sampleOf(table, inputType(table.Roots[token])).(map[string]any)
		shape := checker{table: table}
		shape.object("", table.Roots[token], sample)
		for _, problem := range shape.problems {
			t.Errorf("%s: the sample's %s %s", token, problem.Path, problem.Reason)
		}
		problems, err := roundTrip(models[token], sample, path)
		if err != nil {
			t.Errorf("%s: %v", token, err)
		}
		for _, problem := range problems {
			// The sample's strings are no enum values, and where there is only
			// one value the model writes that. Neither is a lost key.
			if strings.HasPrefix(problem.Reason, "is unknown") {
				t.Errorf("%s: %s %s", token, problem.Path, problem.Reason)
			}
		}
	}
}

// sampleOf makes a value with every key of a type.
func sampleOf(table inputTable, typ inputType) any {
	kind, element := typ.kind()
	switch {
	case kind == "list":
		return []any{sampleOf(table, element)}
	case kind == "map":
		return map[string]any{"key": sampleOf(table, element)}
	case table.Types[string(element)] != nil:
		out := map[string]any{}
		for key, field := range table.Types[string(element)] {
			out[key] = sampleOf(table, field)
		}
		return out
	}
	switch element {
	case "bool":
		return true
	case "int", "number":
		return 1.0
	case "any":
		return "anything"
	default:
		// Also a time, for the few strings that are one.
		return "2024-09-01T00:00:00Z"
	}
}

func TestEnums(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		if indirect(typ) == nil || seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				walk(typ.Field(i).Type)
			}
		case reflect.String:
			if typ != reflect.TypeFor[string]() && len(enums[typ]) == 0 {
				t.Errorf("the values of %s are not listed in enums", typ)
			}
		}
	}
	for _, model := range models {
		walk(model)
	}
	for typ := range enums {
		if !seen[typ] {
			t.Errorf("%s is listed in enums but in no model", typ)
		}
	}
}

// The model check alone must catch a key that Microsoft's model lacks.
func TestRoundTripDropsNothingSilently(t *testing.T) {
	problems, err := roundTrip(models[AgentPool], map[string]any{"count": 1.0, "cuont": 2.0,
		"upgradeSettings": map[string]any{"maxUnavailable": "1", "maxSurge": provider.Unknown{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 2 || problems[0].Path != "cuont" || problems[1].Path != "upgradeSettings.maxUnavailable" {
		t.Errorf("got %v", problems)
	}
}
