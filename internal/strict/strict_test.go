package strict

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestNearestIsASlipAway(t *testing.T) {
	for name, want := range map[string]string{"maxsurge": "maxSurge", "maxSurg": "maxSurge", "unlike": "", "minCont": "minCount"} {
		if got := Nearest(name, []string{"maxSurge", "minCount"}); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
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
