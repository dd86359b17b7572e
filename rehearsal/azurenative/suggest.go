package azurenative

import (
	"fmt"
	"strings"
	"unicode"

	"ray-on-aks/internal/strict"
)

// join extends a Pulumi property path by a key.
func join(path, key string) string {
	plain := strings.IndexFunc(key, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
	switch {
	case !plain:
		return fmt.Sprintf("%s[%q]", path, key)
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

// suggest answers a hint for a name that is none of known: the nearest one, or
// all of them where they are few.
func suggest(name string, known []string) string {
	if near := strict.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) > 0 && len(known) <= 12 {
		return "; there are " + strings.Join(known, ", ")
	}
	return ""
}
