package workloads

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is what a workload becomes in the cluster.
type Kind string

// KindRayJob is a program that runs to its end on a Ray cluster of its own.
const KindRayJob Kind = "RayJob"

// Workload declares what should run, by intent; the builders decide how. Every field but those listed in runid.go is part of the run's
// identity: changing one makes a new run under a new name.
type Workload struct {
	// Enabled runs the workload. Default: false.
	Enabled bool `json:"enabled"`
	// Kind is RayJob, which is the default.
	Kind Kind `json:"kind"`
	// Queue is the LocalQueue that it waits in. Default: the stack's queue.
	Queue string `json:"queue"`
	// Image is what every pod runs. Default: the pinned Ray image.
	Image string `json:"image"`
	// Workers is the number of worker pods, at most 1000. Default: 1.
	Workers int32 `json:"workers"`
	// Worker is the size of one worker pod. Default: 1 CPU and 4Gi.
	Worker Size `json:"worker"`
	// Head is the size of the head pod, which also runs the entrypoint. Default: 1 CPU and 4Gi.
	Head Size `json:"head"`
	// Script is the name of a program in workloads/entrypoints, for example smoke.py. Exactly one of script and entrypoint is set.
	Script string `json:"script"`
	// Entrypoint is a command in the image, for programs that are not in this repository.
	Entrypoint string `json:"entrypoint"`
	// Env are environment variables of head and workers.
	Env map[string]string `json:"env"`
	// Retries is how often a failed run is repeated, at most 100. Default: 0.
	Retries int32 `json:"retries"`
	// ActiveDeadline ends the run when one attempt has lasted so long; no retry follows. KubeRay counts anew at each retry and each
	// admission, so a run with retries, or one that was preempted, may last longer in all. Default: 1h.
	ActiveDeadline metav1.Duration `json:"activeDeadline"`
	// PreRunningDeadline ends an attempt whose pods do not come up, counted in the same way; a retry may follow. Default: 45m, longer
	// than Kueue waits before it requeues.
	PreRunningDeadline metav1.Duration `json:"preRunningDeadline"`
	// Generation is raised to run the same thing once more.
	Generation int `json:"generation"`
	// Keep leaves the run and its scripts in the cluster when a newer run takes its place.
	Keep bool `json:"keep"`
}

// Size is what one pod requests; limits are the same.
type Size struct {
	// CPUs is a number of cores from 1m to 1024, for example 2 or 500m.
	CPUs resource.Quantity `json:"cpus"`
	// Memory is in bytes from 1Mi to 64Ti, for example 8Gi.
	Memory resource.Quantity `json:"memory"`
}

// Jobs are workloads by name.
type Jobs map[string]Workload

// UnmarshalJSON decodes onto the catalog's entry of the same name, or onto the defaults, so that a stack file says only what differs.
func (j *Jobs) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	merged := maps.Clone(*j)
	if merged == nil {
		merged = Jobs{}
	}
	for name, fields := range raw {
		w, ok := merged[name]
		if !ok {
			w = defaults()
		}
		// The catalog's map must not be written to.
		w.Env = maps.Clone(w.Env)
		if err := json.Unmarshal(fields, &w); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		merged[name] = w
	}
	*j = merged
	return nil
}

// Names lists the workloads in a fixed order.
func (j Jobs) Names() []string { return slices.Sorted(maps.Keys(j)) }
