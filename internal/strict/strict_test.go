package strict

import "testing"

func TestNearestIsASlipAway(t *testing.T) {
	for name, want := range map[string]string{"maxsurge": "maxSurge", "maxSurg": "maxSurge", "unlike": "", "minCont": "minCount"} {
		if got := Nearest(name, []string{"maxSurge", "minCount"}); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
