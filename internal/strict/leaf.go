package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	typeDuration = reflect.TypeFor[metav1.Duration]()
	typeQuantity = reflect.TypeFor[resource.Quantity]()
)

// shortQuantity is what of a quantity's syntax is read. Its parser writes out the zeros of an exponent, of which ten digits would fill the
// memory; no quantity of anything needs more than these.
var shortQuantity = regexp.MustCompile(`^[^eE]{1,40}([eE](i|[+-]?[0-9]{0,2}))?$`)

// checkLeaf decodes the value by itself, so that its error carries its path.
func checkLeaf(path string, value any, t reflect.Type) []error {
	if value == nil {
		return wrongKind(path, word(t), value)
	}
	data, err := json.Marshal(value)
	if err != nil {
		return wrongKind(path, word(t), value)
	}
	if t == typeQuantity && !shortQuantity.MatchString(strings.Trim(string(data), `"`)) {
		return wrongKind(path, word(t), value)
	}
	err = json.Unmarshal(data, reflect.New(t).Interface())
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind), err != nil && (t == typeDuration || t == typeQuantity):
		errs := wrongKind(path, word(t)+outOf(t, data), value)
		return []error{fmt.Errorf("%w%s", errs[0], otherwise(value, t))}
	case err != nil:
		return []error{fmt.Errorf("%s: %s is no value for it: %w", path, data, err)}
	}
	return nil
}

// word says what a value of type t looks like in a stack file.
func word(t reflect.Type) string {
	switch t {
	case typeDuration:
		return "a duration, for example 90s, 30m or 168h"
	case typeQuantity:
		return "a quantity, for example 2, 500m or 8Gi"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	default:
		return "a text"
	}
}

// outOf says what numbers t holds, for a whole number that is none of them.
func outOf(t reflect.Type, number []byte) string {
	if _, whole := new(big.Int).SetString(string(number), 10); !whole || t.Kind() < reflect.Int || t.Kind() > reflect.Int64 {
		return ""
	}
	most := int64(math.MaxInt64) >> (64 - t.Bits())
	return fmt.Sprintf(" between %d and %d", -most-1, most)
}

// otherwise suggests the same value as it would have to be written: what looks like a number or a truth is no text without quotes, and one
// with them is nothing else; and units have no blank before them, nor a B for bytes.
func otherwise(value any, t reflect.Type) string {
	text, isText := value.(string)
	would := func(data []byte) bool { return json.Unmarshal(data, reflect.New(t).Interface()) == nil }
	switch value.(type) {
	case json.Number, bool:
		if quoted := fmt.Sprintf("%q", fmt.Sprint(value)); t.Kind() == reflect.String {
			return "; write it in quotes: " + quoted
		}
	}
	switch {
	case isText && t.Kind() != reflect.Struct && json.Valid([]byte(text)) && would([]byte(text)):
		return "; write it without quotes"
	case isText && t == typeDuration:
		if spelt := durationOf(text); spelt != "" && would(fmt.Appendf(nil, "%q", spelt)) {
			return "; did you mean " + spelt + "?"
		}
	case isText && t == typeQuantity:
		bare := strings.TrimRight(strings.ReplaceAll(text, " ", ""), "Bb")
		if bare != text && shortQuantity.MatchString(bare) && would(fmt.Appendf(nil, "%q", bare)) {
			return "; did you mean " + bare + "?"
		}
	}
	return ""
}

// inWords is a duration as people write it.
var inWords = regexp.MustCompile(`^\s*([0-9]{1,6})\s*(s|m|h|d)([a-z]*)\s*$`)

// durationOf is the duration that is said in words, or in days, which Go does not count; empty where it is something else.
func durationOf(text string) string {
	said := inWords.FindStringSubmatch(strings.ToLower(text))
	if said == nil {
		return ""
	}
	number, unit := said[1], said[2]
	if unit == "m" && strings.HasPrefix(said[3], "o") {
		return "" // months
	}
	if unit == "d" {
		days, err := strconv.Atoi(number)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%dh", days*24)
	}
	return number + unit
}

func wrongKind(path, want string, got any) []error {
	data, err := json.Marshal(got)
	if err != nil {
		return []error{fmt.Errorf("%s: must be %s", path, want)}
	}
	return []error{fmt.Errorf("%s: must be %s, got %s", path, want, data)}
}
