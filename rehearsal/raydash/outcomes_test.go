package raydash

import (
	"os"
	"strings"
	"testing"
)

func TestTheLongestPrefixDecidesTheOutcome(t *testing.T) {
	h := &Heads{Outcomes: t.TempDir() + "/outcomes.json"}
	text := `{"": {"seconds": 1}, "smoke": {"seconds": 2, "status": "FAILED"}, "smoke-2": {"seconds": 3}, "smoke-22-x": {"seconds": 4},
		"online": {"seconds": 7, "status": "UNHEALTHY"}, "online-b": {"seconds": 8}}`
	if err := os.WriteFile(h.Outcomes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		of   kind
		name string
		want Outcome
	}{
		{jobKind, "other", Outcome{1, "SUCCEEDED"}},
		{jobKind, "smoke-1", Outcome{2, "FAILED"}},
		{jobKind, "smoke-2", Outcome{3, "SUCCEEDED"}},
		{jobKind, "smoke-22", Outcome{3, "SUCCEEDED"}},
		{jobKind, "smoke-22-x", Outcome{4, "SUCCEEDED"}},
		{jobKind, "my-smoke-2", Outcome{1, "SUCCEEDED"}},
		{serviceKind, "online-a", Outcome{7, "UNHEALTHY"}},
		{serviceKind, "online-b", Outcome{8, "RUNNING"}},
		// The empty prefix is for jobs.
		{serviceKind, "other", Outcome{defaultSeconds, "RUNNING"}},
	} {
		if got, err := h.outcome(test.of, test.name); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v; want %+v", test.name, got, err, test.want)
		}
	}
}

func TestAnOutcomesFileThatCannotBeFollowedIsRefused(t *testing.T) {
	h := &Heads{Outcomes: t.TempDir() + "/outcomes.json"}
	for text, of := range map[string]kind{
		`{`:                                  jobKind,
		`{"smoke": {"status": "FAILD"}}`:     jobKind,
		`{"smoke": {"status": "UNHEALTHY"}}`: jobKind,
		`{"smoke": {"status": "FAILED"}}`:    serviceKind,
	} {
		if err := os.WriteFile(h.Outcomes, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, err := h.outcome(of, "smoke"); err == nil || !strings.Contains(err.Error(), h.Outcomes) {
			t.Errorf("%s is answered with %+v, %v", text, o, err)
		}
	}
	h.Outcomes += ".none"
	for _, of := range []kind{jobKind, serviceKind} {
		if got, err := h.outcome(of, "smoke"); err != nil || got != (Outcome{defaultSeconds, of.statuses[0]}) {
			t.Errorf("without a file: %+v, %v", got, err)
		}
	}
}
