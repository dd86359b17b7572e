package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNearestIsASlipAway(t *testing.T) {
	for name, want := range map[string]string{"maxsurge": "maxSurge", "maxSurg": "maxSurge", "unlike": "", "minCont": "minCount", "": ""} {
		if got := Nearest(name, []string{"maxSurge", "minCount"}); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestNearestPrefersTheSameWordGoingOn(t *testing.T) {
	for _, words := range [][]string{{"cpu", "gpus", "memory"}, {"memory", "gpus", "cpu"}} {
		if got := Nearest("gpu", words); got != "gpus" {
			t.Errorf("of %v gpu is nearest to %q, want gpus", words, got)
		}
	}
	if got := Nearest("a", []string{"1", "2"}); got != "" {
		t.Errorf("a has nothing of %s", got)
	}
	for _, words := range [][]string{{"b2", "b1"}, {"b1", "b2"}} {
		if got := Nearest("b3", words); got != "b1" {
			t.Errorf("of %v the nearest is %q: it depends on the order", words, got)
		}
	}
}

func TestWhatIsNoValueIsToldWhatIsOne(t *testing.T) {
	type target struct {
		Small  int32              `json:"small"`
		Large  int64              `json:"large"`
		Map    map[string]string  `json:"map"`
		Truth  bool               `json:"truth"`
		Time   metav1.Duration    `json:"time"`
		Memory *resource.Quantity `json:"memory"`
	}
	for data, want := range map[string]string{
		``:                               "part: is empty; must be an object, or be left out",
		" \n":                            "part: is empty; must be an object, or be left out",
		`null`:                           "part: must be an object, got null",
		`hello`:                          `part: must be an object, got "hello" (invalid character 'h' looking for beginning of value)`,
		`{"small": 3000000000}`:          "part.small: must be a whole number between -2147483648 and 2147483647, got 3000000000",
		`{"large": 9223372036854775808}`: "part.large: must be a whole number between -9223372036854775808 and 9223372036854775807, got 9223372036854775808",
		`{"small": 1.5}`:                 "part.small: must be a whole number, got 1.5",
		`{"small": "3000000000"}`:        `part.small: must be a whole number, got "3000000000"`,
		`{"map": {"a\nb": 3}}`:           `part.map: a key must be without control characters, such as line breaks, got "a\nb"`,
		`{"a\tb": 3}`:                    `part: a key must be without control characters, such as line breaks, got "a\tb"`,
		`{"map": {"a": 3}}`:              `part.map.a: must be a text, got 3; write it in quotes: "3"`,
		`{"map": {"a": 1.30}}`:           `part.map.a: must be a text, got 1.30; write it in quotes: "1.30"`,
		`{"map": {"a": true}}`:           `part.map.a: must be a text, got true; write it in quotes: "true"`,
		`{"map": {"a": [1]}}`:            "part.map.a: must be a text, got [1]",
		`{"truth": "true"}`:              `part.truth: must be true or false, got "true"; write it without quotes`,
		`{"truth": "yes"}`:               `part.truth: must be true or false, got "yes"`,
		`{"small": "3"}`:                 `part.small: must be a whole number, got "3"; write it without quotes`,
		`{"time": "5 min"}`:              `part.time: must be a duration, for example 90s, 30m or 168h, got "5 min"; did you mean 5m?`,
		`{"time": "7d"}`:                 `part.time: must be a duration, for example 90s, 30m or 168h, got "7d"; did you mean 168h?`,
		`{"time": "4 hours"}`:            `part.time: must be a duration, for example 90s, 30m or 168h, got "4 hours"; did you mean 4h?`,
		`{"time": "2 months"}`:           `part.time: must be a duration, for example 90s, 30m or 168h, got "2 months"`,
		`{"time": 30}`:                   "part.time: must be a duration, for example 90s, 30m or 168h, got 30",
		`{"memory": "8 GiB"}`:            `part.memory: must be a quantity, for example 2, 500m or 8Gi, got "8 GiB"; did you mean 8Gi?`,
		`{"memory": "8GB"}`:              `part.memory: must be a quantity, for example 2, 500m or 8Gi, got "8GB"; did you mean 8G?`,
		`{"memory": "lots"}`:             `part.memory: must be a quantity, for example 2, 500m or 8Gi, got "lots"`,
		`{"memory": true}`:               "part.memory: must be a quantity, for example 2, 500m or 8Gi, got true",
		// Its zeros would fill the memory.
		`{"memory": "1e999999999"}`: `part.memory: must be a quantity, for example 2, 500m or 8Gi, got "1e999999999"`,
	} {
		if err := Decode("part", []byte(data), &target{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
}

// absent is an object without a key that others have.
type absent struct {
	Size int `json:"size"`
}

// Absent is for the test below.
func (absent) Absent() map[string]string { return map[string]string{"length": "it is size"} }

func TestWhyAKeyIsNotThere(t *testing.T) {
	for data, want := range map[string]string{
		`{"length": 1}`: "part.length: unknown key: it is size",
		`{"Length": 1}`: "part.Length: unknown key: it is size",
		`{"sise": 1}`:   "part.sise: unknown key; did you mean size?",
	} {
		if err := Decode("part", []byte(data), &absent{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
}

func TestAllQuantitiesThatKubernetesKnowsAreRead(t *testing.T) {
	for _, text := range []string{"1", `"1"`, "0.5", `"500m"`, `"100u"`, `"1n"`, `"8Ei"`, `"8E"`, `"1e3"`, `"1E-3"`, `"12e+6"`, `"-1"`, "9223372036854775807"} {
		var target struct {
			Size resource.Quantity `json:"size"`
		}
		if err := Decode("part", []byte(`{"size": `+text+`}`), &target); err != nil {
			t.Error(err)
		}
	}
}

func TestATwinDiffersInItsCaseAlone(t *testing.T) {
	for name, want := range map[string]string{"owner": "Owner", "Owner": "Owner", "owners": "", "": ""} {
		if got := Twin(name, []string{"cost", "Owner", "OWNER"}); got != want {
			t.Errorf("the twin of %q is %q, want %q", name, got, want)
		}
	}
}

func TestHintsSayWhatThereIs(t *testing.T) {
	for want, known := range map[string][]string{
		`there is no team "visio"; did you mean vision?`:       {"language", "vision"},
		`there is no team "visio"; known are language, speech`: {"language", "speech"},
		`there is no team "visio"; there are none`:             nil,
	} {
		if got := Unknown("team", "visio", known).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOfAListEachIsRefusedOnce(t *testing.T) {
	odd := func(at, word string) error {
		if len(word)%2 == 0 {
			return nil
		}
		return fmt.Errorf("%s: %s is odd", at, word)
	}
	err := errors.Join(Each("list", []string{"a", "bb", "a", "bb", "c"}, odd)...)
	if want := "list[0]: a is odd\nlist[2]: repeats a; leave it out\nlist[3]: repeats bb; leave it out\nlist[4]: c is odd"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWhatWouldDoIsShorter(t *testing.T) {
	free := func(name string) bool { return name != "taken" }
	for name, want := range map[string]string{"longer-name": `; "longer" would do`, "taken--name": "", "éééééééé": `; "ééééééé" would do`, "short": `; "short" would do`} {
		if got := WouldDo(name, 7, free); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestMergeLeavesTheMapThatItStartsFrom(t *testing.T) {
	type entry struct {
		Size  int    `json:"size"`
		Color string `json:"color"`
	}
	defaults := map[string]entry{"a": {Size: 1, Color: "red"}}
	merged := defaults
	err := Merge(&merged, []byte(`{"a": {"size": 2}, "b": {"size": 3}}`), func(e entry, known bool, _ json.RawMessage) (entry, error) {
		if !known {
			e.Color = "none"
		}
		return e, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]entry{"a": {2, "red"}, "b": {3, "none"}}; !maps.Equal(merged, want) {
		t.Errorf("got %v, want %v", merged, want)
	}
	if want := map[string]entry{"a": {1, "red"}}; !maps.Equal(defaults, want) {
		t.Errorf("the map that was there is %v now", defaults)
	}
}
