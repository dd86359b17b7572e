package stacktest

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
)

// Outputs resolves what a program that has ended exports, as another stack would read it.
func Outputs(t *testing.T, exports pulumi.Map) resource.PropertyMap {
	t.Helper()
	all := resource.PropertyMap{}
	for name, input := range exports {
		value, secret := Resolve(t, input)
		property := resource.NewPropertyValue(value)
		if secret {
			property = resource.MakeSecret(property)
		}
		all[resource.PropertyKey(name)] = property
	}
	return all
}

// Resolve returns what an output of a program that has ended is, with all outputs inside it resolved, and whether it is secret.
func Resolve(t *testing.T, input pulumi.Input) (value any, secret bool) {
	t.Helper()
	result, err := internals.UnsafeAwaitOutput(t.Context(), pulumi.ToOutput(input))
	if err != nil {
		t.Fatalf("resolving an output: %v", err)
	}
	if !result.Known {
		t.Fatal("an output is unknown after an update")
	}
	return result.Value, result.Secret
}
