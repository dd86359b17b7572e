package infra

import (
	"strings"
	"testing"
	"time"
)

// TestAShortWaitForGPUNodesIsWarnedOf: Kueue would put a job back before a node from zero can be ready.
func TestAShortWaitForGPUNodesIsWarnedOf(t *testing.T) {
	wait := func(d time.Duration, change func(*Args)) Args {
		args := valid()
		args.Pools["gpu"] = Pool{VMSize: "Standard_NC24ads_A100_v4", Max: 1}
		args.Operators.Kueue.WaitForPodsReady.Duration = d
		change(&args)
		if err := args.Validate(); err != nil {
			t.Fatal(err)
		}
		return args
	}
	as := func(*Args) {}
	warnings := strings.Join(wait(5*time.Minute, as).Warnings(), "\n")
	if !strings.HasPrefix(warnings, "infra.operators.kueue.waitForPodsReady: 5m0s is less than the 15m0s") || !strings.Contains(warnings, "jobs of pool gpu") {
		t.Errorf("got %q", warnings)
	}
	for name, args := range map[string]Args{
		"long enough":            wait(15*time.Minute, as),
		"a node is always there": wait(5*time.Minute, func(a *Args) { a.Pools["gpu"] = Pool{VMSize: "Standard_NC24ads_A100_v4", Min: 1, Max: 1, Count: 1} }),
		"services alone":         wait(5*time.Minute, func(a *Args) { a.Pools["gpu"] = Pool{VMSize: "Standard_NC24ads_A100_v4", Max: 1, Serving: true} }),
		"no GPUs":                wait(5*time.Minute, func(a *Args) { delete(a.Pools, "gpu") }),
		"another's Kueue":        wait(5*time.Minute, func(a *Args) { a.Operators.Kueue.Mode = ModePreinstalled }),
	} {
		if got := args.Warnings(); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
