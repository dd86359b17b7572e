package crdtest

import (
	"strings"
	"testing"
)

func queue(change func(spec map[string]any)) map[string]any {
	spec := map[string]any{
		"queueingStrategy": "BestEffortFIFO",
		"resourceGroups": []any{map[string]any{
			"coveredResources": []any{"cpu"},
			"flavors": []any{map[string]any{
				"name":      "cpu",
				"resources": []any{map[string]any{"name": "cpu", "nominalQuota": "1"}},
			}},
		}},
	}
	change(spec)
	return map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
		"metadata": map[string]any{"name": "q"}, "spec": spec,
	}
}

func TestWhatAnAPIServerRefusesIsFound(t *testing.T) {
	if err := Check(queue(func(map[string]any) {})); err != nil {
		t.Fatalf("a valid queue is refused: %v", err)
	}
	for words, change := range map[string]func(map[string]any){
		"spec.cohort: unknown field": func(s map[string]any) { s["cohort"] = "v1beta1" },
		"queueingStrategy":           func(s map[string]any) { s["queueingStrategy"] = "Fifo" },
		"borrowingLimit must be nil when cohort is empty": func(s map[string]any) {
			flavor := s["resourceGroups"].([]any)[0].(map[string]any)["flavors"].([]any)[0].(map[string]any)
			flavor["resources"].([]any)[0].(map[string]any)["borrowingLimit"] = "1"
		},
	} {
		if err := Check(queue(change)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
	if err := Check(map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Queue"}); err == nil {
		t.Error("a kind without a CRD is accepted")
	}
}
