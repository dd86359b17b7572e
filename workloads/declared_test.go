package workloads

import (
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/strict"
)

func decode(t *testing.T, onto Declared, data string) Declared {
	t.Helper()
	if err := strict.Decode("workloads", []byte(data), &onto); err != nil {
		t.Fatal(err)
	}
	return onto
}

func TestAStackAddsToTheCatalog(t *testing.T) {
	list := make([]string, 2, 8)
	copy(list, []string{"aurora", "models"})
	catalog := Declared{"job": {Workers: 2, Worker: gpuWorker(), Env: map[string]string{"A": "1", "B": "2"}, Storage: list}}
	got := decode(t, catalog, `{"job": {"env": {"B": "3", "C": ""}, "storage": ["models"], "worker": {"memory": "9Gi"}}}`)["job"]
	if got.Workers != 2 || got.Worker.GPUs != 1 || got.Worker.CPUs.String() != "11" || got.Worker.Memory.String() != "9Gi" {
		t.Errorf("the entry lost its defaults: %+v", got)
	}
	if _, ok := got.Env["C"]; !ok || len(got.Env) != 3 || got.Env["A"] != "1" || got.Env["B"] != "3" {
		t.Errorf("variables are not added: %v", got.Env)
	}
	if !slices.Equal(got.Storage, []string{"models"}) {
		t.Errorf("the list is not replaced: %v", got.Storage)
	}
	if was := catalog["job"]; was.Env["B"] != "2" || len(was.Env) != 2 || was.Storage[0] != "aurora" {
		t.Errorf("one stack's values reached the catalog: %+v", was)
	}
}

// TestDefaultsAreTheKinds: a service must not begin with fields that are refused for it, and a job not without its deadlines.
func TestDefaultsAreTheKinds(t *testing.T) {
	got := decode(t, Declared{}, `{"j": {}, "s": {"kind": "RayService"}}`)
	if w := got["s"]; checkKind("workloads.s", "s", w) != nil || w.Workers != 1 {
		t.Errorf("service: %+v", w)
	}
	if w := got["j"]; w.Kind != KindRayJob || w.ActiveDeadline.Duration == 0 || w.PreRunningDeadline.Duration == 0 {
		t.Errorf("job: %+v", w)
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	for words, data := range map[string]string{
		"workloads.smoke.head.gpus: unknown key: heads have none":                     `{"smoke": {"head": {"gpus": 1}}}`,
		"workloads.smoke.worker.gpu: unknown key; did you mean gpus?":                 `{"smoke": {"worker": {"gpu": 1}}}`,
		"workloads.smoke.queue: unknown key: a RayJob waits in the queue of its team": `{"smoke": {"queue": "ray-jobs"}}`,
		"workloads.smoke.worker.gpus: must be a whole number, got 0.5":                `{"smoke": {"worker": {"gpus": 0.5}}}`,
		`workloads.smoke.storage: must be a list, got "models"`:                       `{"smoke": {"storage": "models"}}`,
		`workloads.smoke.activeDeadline: must be a duration, for example 90s`:         `{"smoke": {"activeDeadline": "tomorrow"}}`,
	} {
		declared := Catalog()
		if err := strict.Decode("workloads", []byte(data), &declared); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}
