package provider

import "github.com/pulumi/pulumi/sdk/v3/go/common/resource"

// Unknown stands for a value that only the update will give.
type Unknown struct{}

// Plain turns properties into JSON-like values: secrets opened, unknowns as
// Unknown{}, nulls left out.
func Plain(properties resource.PropertyMap) map[string]any {
	out := make(map[string]any, len(properties))
	for key, value := range properties {
		if plain := plainValue(value); plain != nil {
			out[string(key)] = plain
		}
	}
	return out
}

func plainValue(v resource.PropertyValue) any {
	switch {
	case v.IsSecret():
		return plainValue(v.SecretValue().Element)
	case v.IsOutput():
		if !v.OutputValue().Known {
			return Unknown{}
		}
		return plainValue(v.OutputValue().Element)
	case v.IsComputed():
		return Unknown{}
	case v.IsArray():
		out := make([]any, len(v.ArrayValue()))
		for i, element := range v.ArrayValue() {
			out[i] = plainValue(element)
		}
		return out
	case v.IsObject():
		return Plain(v.ObjectValue())
	default:
		return v.V
	}
}

// properties is the way back from Plain.
func properties(plain map[string]any) resource.PropertyMap {
	out := make(resource.PropertyMap, len(plain))
	for key, value := range plain {
		out[resource.PropertyKey(key)] = propertyValue(value)
	}
	return out
}

func propertyValue(v any) resource.PropertyValue {
	switch v := v.(type) {
	case Unknown:
		return resource.MakeComputed(resource.NewProperty(""))
	case map[string]any:
		return resource.NewProperty(properties(v))
	case []any:
		out := make([]resource.PropertyValue, len(v))
		for i, element := range v {
			out[i] = propertyValue(element)
		}
		return resource.NewProperty(out)
	default:
		return resource.NewPropertyValue(v)
	}
}

// opened copies v with every secret opened, so that becoming secret is not a
// change, and with unknown outputs as computed values.
func opened(v resource.PropertyValue) resource.PropertyValue {
	return propertyValue(plainValue(v))
}

// withSecrets marks in to what is secret in from, at every depth: what the
// program calls a secret stays one in the outputs that echo it.
func withSecrets(from, to resource.PropertyValue) resource.PropertyValue {
	switch {
	case to.IsSecret():
		return to
	case from.IsSecret(), from.IsOutput() && from.OutputValue().Secret:
		return resource.MakeSecret(to)
	case from.IsOutput():
		return withSecrets(from.OutputValue().Element, to)
	case from.IsObject() && to.IsObject():
		out := to.ObjectValue().Copy()
		for key, value := range from.ObjectValue() {
			if existing, ok := out[key]; ok {
				out[key] = withSecrets(value, existing)
			}
		}
		return resource.NewProperty(out)
	case from.IsArray() && to.IsArray() && len(from.ArrayValue()) == len(to.ArrayValue()):
		out := make([]resource.PropertyValue, len(to.ArrayValue()))
		for i, value := range to.ArrayValue() {
			out[i] = withSecrets(from.ArrayValue()[i], value)
		}
		return resource.NewProperty(out)
	default:
		return to
	}
}

// Mask makes previewed outputs: what inputs give stays, everything else in
// outputs keeps its shape and becomes unknown.
func Mask(outputs, inputs map[string]any) map[string]any {
	masked := make(map[string]any, len(outputs))
	for key, value := range outputs {
		given, ok := inputs[key]
		masked[key] = mask(value, given, ok)
	}
	return masked
}

func mask(value, given any, ok bool) any {
	switch value := value.(type) {
	case map[string]any:
		if _, unknown := given.(Unknown); unknown {
			return Unknown{}
		}
		object, isObject := given.(map[string]any)
		if ok && !isObject {
			// The cloud reports this input in another shape.
			return Unknown{}
		}
		return Mask(value, object)
	case []any:
		list, isList := given.([]any)
		if !isList || len(list) != len(value) {
			break
		}
		out := make([]any, len(value))
		for i := range value {
			out[i] = mask(value[i], list[i], true)
		}
		return out
	}
	if ok {
		return given
	}
	return Unknown{}
}
