package azurenative

import (
	"fmt"
	"strings"
	"unicode"
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
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(known) > 0 && len(known) <= 12 {
		return "; there are " + strings.Join(known, ", ")
	}
	return ""
}

// nearest answers the known name with the fewest edits, if these are few
// enough to be a slip.
func nearest(name string, known []string) string {
	best, at := "", max(2, len(name)/3)+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < at {
			best, at = candidate, d
		}
	}
	return best
}

// distance is the number of insertions, deletions and substitutions between a
// and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
