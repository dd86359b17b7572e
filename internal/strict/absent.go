package strict

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Absent is what a type has whose objects lack keys that people expect there, since other programs have them.
type Absent interface {
	// Absent says, by key, why it is not there, or what is said instead.
	Absent() map[string]string
}

// unknownKey is the error for a key that objects of type t do not have.
func unknownKey(path, key string, t reflect.Type, known []string) error {
	if object, ok := reflect.Zero(t).Interface().(Absent); ok {
		absent := object.Absent()
		if named := Twin(key, slices.Sorted(maps.Keys(absent))); named != "" {
			return fmt.Errorf("%s.%s: unknown key: %s", path, key, absent[named])
		}
	}
	return fmt.Errorf("%s.%s: unknown key%s", path, key, Hint(key, known))
}
