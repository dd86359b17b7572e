package strict

import (
	"fmt"
	"slices"
)

// Each checks the elements of a list in which none may stand twice. One that is repeated is refused for that alone, any other by check.
func Each[T ~string](path string, list []T, check func(at string, element T) error) []error {
	var errs []error
	for i, element := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if slices.Contains(list[:i], element) {
			errs = append(errs, fmt.Errorf("%s: repeats %s; leave it out", at, element))
			continue
		}
		errs = append(errs, check(at, element))
	}
	return errs
}
