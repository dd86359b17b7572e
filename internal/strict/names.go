package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Unknown is the error for a name of a kind of thing that does not exist. known should hold only what would be accepted in its place.
func Unknown(kind, name string, known []string) error {
	return fmt.Errorf("there is no %s %q%s", kind, name, Hint(name, known))
}

// Hint ends the message about a name that is none of known: with the one that was probably meant, or else with all of them.
func Hint(name string, known []string) string {
	return HintAs(name, known, func(word string) string { return word })
}

// HintAs is Hint for names that are written in another way than they are compared.
func HintAs(name string, known []string, written func(string) string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + written(near) + "?"
	}
	if len(known) == 0 {
		return "; there are none"
	}
	words := make([]string, len(known))
	for i, word := range known {
		words[i] = written(word)
	}
	return "; known are " + List(words)
}

// WouldDo ends the message about a name that is refused: with what its first characters, as many as may be, make, if that would do.
func WouldDo(name string, most int, would func(name string) bool) string {
	if letters := []rune(name); len(letters) > most {
		name = strings.TrimRight(string(letters[:most]), "-")
	}
	if !would(name) {
		return ""
	}
	return fmt.Sprintf("; %q would do", name)
}

// Same says whether name is one of names but for its case, and for what is neither a letter nor a digit.
func Same(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return fold(n) == fold(name) })
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// Without returns names less those of others.
func Without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// List writes names for a message.
func List(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Nearest returns the word that differs from name by the fewest edits, if those are few enough to be a slip: up to three, in long names
// up to a third of it, and never all of it. Of words that differ by as many, one that only goes on where name ends is meant rather than
// another, gpus rather than cpu by gpu; beyond that the first by name is.
func Nearest(name string, words []string) string {
	lower := strings.ToLower(name)
	most := min(max(1, min(3, len(name)/2), len(name)/3), len(name)-1)
	near := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return distance(lower, strings.ToLower(w)) > most })
	if len(near) == 0 {
		return ""
	}
	return slices.MinFunc(near, func(v, w string) int {
		return cmp.Or(
			cmp.Compare(distance(lower, strings.ToLower(v)), distance(lower, strings.ToLower(w))),
			cmp.Compare(other(lower, v), other(lower, w)),
			cmp.Compare(v, w))
	})
}

// other is 1 for a word that does not begin with name.
func other(name, word string) int {
	if strings.HasPrefix(strings.ToLower(word), name) {
		return 0
	}
	return 1
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost++
			}
			previous = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Twin returns the first of names that differs from name in its case alone, or is name; empty where there is none. Azure heeds the case of
// few names.
func Twin(name string, names []string) string {
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		return names[i]
	}
	return ""
}
