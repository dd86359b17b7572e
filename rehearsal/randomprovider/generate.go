package randomprovider

import (
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/provider"
)

// class is a class of characters.
type class struct{ key, minimum, characters string }

var classes = []class{
	{"lower", "minLower", "abcdefghijklmnopqrstuvwxyz"},
	{"upper", "minUpper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	{"numeric", "minNumeric", "0123456789"},
	{"special", "minSpecial", "!@#$%&*()-_=+[]{}<>:?"},
}

func inputKeys() []string {
	keys := []string{"keepers", "length", "number", "overrideSpecial"}
	for _, class := range classes {
		keys = append(keys, class.key, class.minimum)
	}
	slices.Sort(keys)
	return keys
}

// check answers everything that is wrong with the inputs.
func check(inputs map[string]any) (problems []provider.Problem) {
	report := func(path, format string, args ...any) {
		problems = append(problems, provider.Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
	allowed := inputKeys()
	for _, key := range slices.Sorted(maps.Keys(inputs)) {
		if !slices.Contains(allowed, key) {
			report(key, "is not an input; there are %s", strings.Join(allowed, ", "))
			continue
		}
		if reason := checkType(key, inputs[key]); reason != "" {
			report(key, "%s", reason)
		}
	}
	if _, given := inputs["length"]; !given {
		report("length", "is required")
	}
	if len(problems) > 0 {
		return problems
	}
	// Sums and contradictions make sense only between values that are known.
	for _, value := range inputs {
		if _, unknown := value.(provider.Unknown); unknown {
			return nil
		}
	}
	contradictions(withDefaults(inputs), report)
	return problems
}

func contradictions(state map[string]any, report func(path, format string, args ...any)) {
	length, sum, some := state["length"].(float64), 0.0, false
	if length < 1 {
		report("length", "must be at least 1, got %v", length)
	}
	for _, class := range classes {
		sum += state[class.minimum].(float64)
		some = some || state[class.key] == true
		if state[class.key] != true && state[class.minimum].(float64) > 0 {
			report(class.minimum, "asks for characters that %s: false excludes", class.key)
		}
	}
	if !some {
		report("length", "no class of characters is allowed")
	}
	if sum > length {
		report("length", "must be at least the sum of the minima, %v, got %v", sum, length)
	}
}

func checkType(key string, value any) string {
	if _, unknown := value.(provider.Unknown); unknown {
		return ""
	}
	switch key {
	case "keepers":
		if _, ok := value.(map[string]any); !ok {
			return "must be an object"
		}
	case "overrideSpecial":
		if _, ok := value.(string); !ok {
			return "must be a string"
		}
	case "lower", "upper", "numeric", "number", "special":
		if _, ok := value.(bool); !ok {
			return "must be a boolean"
		}
	default:
		if number, ok := value.(float64); !ok || number != math.Trunc(number) || number < 0 {
			return fmt.Sprintf("must be a whole number of at least 0, got %v", value)
		}
	}
	return ""
}

// generate makes the string: the minima of each class, the rest from all
// classes, shuffled.
func generate(state map[string]any) (string, error) {
	var all string
	var out []byte
	for _, class := range classes {
		characters := class.characters
		if override, ok := state["overrideSpecial"].(string); ok && class.key == "special" && override != "" {
			characters = override
		}
		if state[class.key] != true {
			continue
		}
		all += characters
		for range int(state[class.minimum].(float64)) {
			picked, err := pick(characters)
			if err != nil {
				return "", err
			}
			out = append(out, picked)
		}
	}
	for len(out) < int(state["length"].(float64)) {
		picked, err := pick(all)
		if err != nil {
			return "", err
		}
		out = append(out, picked)
	}
	for i := len(out) - 1; i > 0; i-- {
		j, err := below(i + 1)
		if err != nil {
			return "", err
		}
		out[i], out[j] = out[j], out[i]
	}
	return string(out), nil
}

func pick(characters string) (byte, error) {
	i, err := below(len(characters))
	if err != nil {
		return 0, err
	}
	return characters[i], nil
}

func below(n int) (int, error) {
	picked, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		return 0, fmt.Errorf("drawing a random number: %w", err)
	}
	return int(picked.Int64()), nil
}
