// Package strict decodes JSON onto Go values and, unlike encoding/json, refuses what the type does not know: each unknown key and each
// value of the wrong kind is an error with its path, and all of them are reported at once. Rules that values of several parts keep are
// here too.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Decode decodes data onto target, a pointer to a struct that may hold defaults. path begins every message.
func Decode(path string, data []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: is empty; must be an object, or be left out", path)
	} else if err != nil {
		return fmt.Errorf("%s: must be an object, got %.60q (%w)", path, data, err)
	}
	if errs := check(path, value, reflect.TypeOf(target).Elem()); len(errs) > 0 {
		return errors.Join(errs...)
	}
	// What is left for encoding/json to refuse are leaves with a syntax of their own, such as quantities and durations.
	if err := json.Unmarshal(data, target); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// check compares a decoded value with the type that it is meant for.
func check(path string, value any, t reflect.Type) []error {
	if t.Kind() == reflect.Pointer {
		return check(path, value, t.Elem())
	}
	switch t.Kind() {
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(unmarshaler) {
			return checkLeaf(path, value, t)
		}
		return checkStruct(path, value, t)
	case reflect.Map:
		return checkMap(path, value, t)
	case reflect.Slice:
		return checkSlice(path, value, t)
	default:
		return checkLeaf(path, value, t)
	}
}

func checkStruct(path string, value any, t reflect.Type) []error {
	object, ok := value.(map[string]any)
	if !ok {
		return wrongKind(path, "an object", value)
	}
	fields := Fields(t)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, ok := fields[key]
		if !ok {
			known := slices.Sorted(maps.Keys(fields))
			if err := CheckKey(path, key); err != nil {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, unknownKey(path, key, t, known))
			continue
		}
		errs = append(errs, check(path+"."+key, object[key], field.Type)...)
	}
	return errs
}

func checkMap(path string, value any, t reflect.Type) []error {
	object, ok := value.(map[string]any)
	if !ok {
		return wrongKind(path, "an object", value)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if err := CheckKey(path, key); err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, check(path+"."+key, object[key], t.Elem())...)
	}
	return errs
}

// CheckKey refuses a key that would break the lines of messages. No name of anything has such characters.
func CheckKey(path, key string) error {
	if strings.ContainsFunc(key, unicode.IsControl) {
		return fmt.Errorf("%s: a key must be without control characters, such as line breaks, got %q", path, key)
	}
	return nil
}

func checkSlice(path string, value any, t reflect.Type) []error {
	list, ok := value.([]any)
	if !ok {
		return wrongKind(path, "a list", value)
	}
	var errs []error
	for i, element := range list {
		errs = append(errs, check(fmt.Sprintf("%s[%d]", path, i), element, t.Elem())...)
	}
	return errs
}

// Fields returns the fields of t by their JSON keys, those of embedded structs among them. Fields tagged "-" are left out.
func Fields(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && key != "" && key != "-" {
			fields[key] = f
		}
	}
	return fields
}
