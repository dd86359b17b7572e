package azurenative

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"

	"ray-on-aks/rehearsal/provider"
)

// nullChecking is the emulator with a check of what the provider leaves out before
// the validators see it: keys whose value is null.
type nullChecking struct {
	*provider.Provider
	table inputTable
}

// Check also refuses an unknown key whose value is null.
func (s nullChecking) Check(ctx context.Context, r plugin.CheckRequest) (plugin.CheckResponse, error) {
	answer, err := s.Provider.Check(ctx, r)
	if err != nil {
		return answer, err
	}
	shape := checker{table: s.table}
	shape.nulls("", inputType(s.table.Roots[string(r.Type)]), resource.NewProperty(r.News))
	for _, problem := range shape.problems {
		answer.Failures = append(answer.Failures, plugin.CheckFailure{Property: resource.PropertyKey(problem.Path), Reason: problem.Reason})
	}
	slices.SortStableFunc(answer.Failures, func(a, b plugin.CheckFailure) int {
		return strings.Compare(string(a.Property), string(b.Property))
	})
	return answer, nil
}

// nulls reports the unknown keys in value that are null.
func (c *checker) nulls(path string, typ inputType, value resource.PropertyValue) {
	value = reveal(value)
	kind, element := typ.kind()
	switch {
	case kind == "list" && value.IsArray():
		for i, item := range value.ArrayValue() {
			c.nulls(fmt.Sprintf("%s[%d]", path, i), element, item)
		}
	case kind == "map" && value.IsObject():
		for key, item := range value.ObjectValue() {
			c.nulls(join(path, string(key)), element, item)
		}
	case kind == "plain" && value.IsObject() && c.table.Types[string(element)] != nil:
		for _, key := range slices.Sorted(maps.Keys(value.ObjectValue())) {
			item := value.ObjectValue()[key]
			field, ok := c.table.Types[string(element)][string(key)]
			if ok {
				c.nulls(join(path, string(key)), field, item)
			} else if reveal(item).IsNull() {
				c.unknownKey(path, string(element), string(key))
			}
		}
	}
}

// reveal answers what is in a secret or a known output.
func reveal(value resource.PropertyValue) resource.PropertyValue {
	switch {
	case value.IsSecret():
		return reveal(value.SecretValue().Element)
	case value.IsOutput() && value.OutputValue().Known:
		return reveal(value.OutputValue().Element)
	default:
		return value
	}
}
