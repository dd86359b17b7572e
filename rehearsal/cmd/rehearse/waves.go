package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"ray-on-aks/rehearsal/engine"
	"ray-on-aks/rehearsal/report"
)

// waves are the catalog's jobs in the order in which one reads what another has
// written. Trainings could run at once, but a machine of few cores is slower
// with many nodes of Ray than with one job after the other.
var waves = [][]string{
	{"smoke", "stage"}, {"aurora-finetune"}, {"llm-training"}, {"gpt2-tuning"}, {"batch-inference"},
}

// workloadsKey begins the keys of workloads in a stack file.
const workloadsKey = "ray-on-aks:workloads"

// bringInWaves brings the stack up by successive updates, as its user would:
// each enables what reads the results of the one before it, and the last all
// that the stack file has.
func (r *rehearsal) bringInWaves(ctx context.Context, e *engine.Engine, follower *report.Follower) error {
	enabled, err := r.enabled()
	if err != nil {
		return err
	}
	for _, name := range enabled {
		if err := enable(ctx, e, name, false); err != nil {
			return err
		}
	}
	last := slices.DeleteFunc(slices.Clone(enabled), func(name string) bool { return slices.Contains(slices.Concat(waves...), name) })
	for _, wave := range append(slices.Clone(waves), last) {
		wave = slices.DeleteFunc(slices.Clone(wave), func(name string) bool { return !slices.Contains(enabled, name) })
		if len(wave) == 0 {
			continue
		}
		fmt.Printf("\n== enabling %s\n", strings.Join(wave, ", "))
		for _, name := range wave {
			if err := enable(ctx, e, name, true); err != nil {
				return err
			}
		}
		if err := r.bring(ctx, e, follower, realDeadline); err != nil {
			return fmt.Errorf("%w; what the programs say is in %s", err, r.dir.Join("ray", "jobs"))
		}
	}
	return nil
}

// enable says in the rehearsal's copy of the stack file whether a workload runs.
func enable(ctx context.Context, e *engine.Engine, name string, enabled bool) error {
	key := fmt.Sprintf("%s[%q].enabled", workloadsKey, name)
	return e.Run(ctx, io.Discard, "config", "set", "--path", key, fmt.Sprint(enabled))
}

// enabled lists the workloads that the stack file enables, in order.
func (r *rehearsal) enabled() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(r.root, "Pulumi."+r.stack+".yaml"))
	if err != nil {
		return nil, err
	}
	var stack struct {
		Config map[string]any `json:"config"`
	}
	if err := yaml.Unmarshal(data, &stack); err != nil {
		return nil, fmt.Errorf("reading the stack file: %w", err)
	}
	workloads, _ := stack.Config[workloadsKey].(map[string]any)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		if workload, _ := workloads[name].(map[string]any); workload["enabled"] == true {
			names = append(names, name)
		}
	}
	return names, nil
}
