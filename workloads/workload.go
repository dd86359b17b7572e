package workloads

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is what a workload becomes in the cluster.
type Kind string

const (
	// KindRayJob is a program that runs to its end on a Ray cluster of its own, once the queue has admitted it.
	KindRayJob Kind = "RayJob"
	// KindRayService is a program that answers requests for as long as it is enabled. No queue counts it.
	KindRayService Kind = "RayService"
)

// Workload declares what should run, by intent; the builders decide how. Of a RayJob, every field but those listed in runid.go is part of
// the run's identity: changing one makes a new run under a new name. A RayService keeps its name and is changed in place.
type Workload struct {
	// Enabled runs the workload. Default: false.
	Enabled bool `json:"enabled"`
	// Kind is RayJob, which is the default, or RayService.
	Kind Kind `json:"kind"`
	// Team is whose namespace, identity and queue it uses, one of queues.teams. It must be set where there are several.
	Team string `json:"team"`
	// Priority is one of queues.priorities; a run of a higher one is admitted before, and may take the place of, one of a lower. RayJob
	// only. Default: normal.
	Priority string `json:"priority"`
	// Pool is the node pool of the workers. A RayJob without one gets the first pool of its queue that has room; a RayService must name one.
	Pool string `json:"pool"`
	// Image is what every pod runs, the libraries of its program included. Default: the pinned Ray image, where a program of this repository
	// first installs what it needs beside it, from the lock of its image in workloads/images.
	Image string `json:"image"`
	// Workers is the number of worker pods, at most 1000. Default: 1.
	Workers int32 `json:"workers"`
	// Worker is the size of one worker pod. Default: 1 CPU, 4Gi and no GPU.
	Worker WorkerSize `json:"worker"`
	// Head is the size of the head pod, which also runs a job's entrypoint. It never has GPUs. Default: 1 CPU and 4Gi.
	Head Size `json:"head"`
	// Script is the name of a program in workloads/entrypoints, for example smoke.py. Exactly one of script and entrypoint is set. A
	// RayService serves the script's app.
	Script string `json:"script"`
	// Entrypoint is a command in the image, for programs that are not in this repository; for a RayService it is module:attribute.
	Entrypoint string `json:"entrypoint"`
	// Env are environment variables of head and workers, as they are written: nothing in them is expanded. They are added to those of the
	// catalog's entry. Those that begin as the script's own do have to be some that it knows. They have at most 512 KiB in all.
	Env map[string]string `json:"env"`
	// Storage are the storage containers that are mounted into head and workers, each at /mnt/blob/<container>: at most 4, and no more than
	// the head has CPUs, and a worker CPUs or, with GPUs, twice its GPUs. The list replaces that of the catalog's entry.
	Storage []string `json:"storage"`
	// Output is where the results go, <container>/<prefix> with one of Storage; each run id has a folder below it, which the program finds
	// in RUN_OUTPUT. RayJob only. Default: the program is given none, which one that leaves results does not run without.
	Output string `json:"output"`
	// RoutePrefix is the path under which a RayService answers, for example /aurora. RayService only. Default: /.
	RoutePrefix string `json:"routePrefix"`
	// Retries is how often a failed run is repeated, at most 100. RayJob only. Default: 0.
	Retries int32 `json:"retries"`
	// ActiveDeadline ends the run when one attempt has lasted so long; no retry follows. KubeRay counts anew at each retry and each
	// admission, so a run with retries, or one that was preempted, may last longer in all. It is in whole seconds, and longer than
	// PreRunningDeadline, which starts at the same time. RayJob only. Default: 1h.
	ActiveDeadline metav1.Duration `json:"activeDeadline"`
	// PreRunningDeadline ends an attempt whose pods do not come up, counted in the same way; a retry may follow. It is in whole seconds.
	// RayJob only. Default: 45m, longer than Kueue waits before it requeues.
	PreRunningDeadline metav1.Duration `json:"preRunningDeadline"`
	// Generation is raised to run the same thing once more. RayJob only.
	Generation int `json:"generation"`
	// Keep leaves the run and its scripts in the cluster when a newer run takes its place. It has to be there by an `up` before the one
	// that makes the newer run. RayJob only.
	Keep bool `json:"keep"`
}

// onlyFor names the kind that a field is for, by its key; fields that are not listed are for both. A field that is set for the other kind
// would have no effect, so it is refused.
var onlyFor = map[string]Kind{
	"priority": KindRayJob, "output": KindRayJob, "retries": KindRayJob, "activeDeadline": KindRayJob, "preRunningDeadline": KindRayJob,
	"generation": KindRayJob, "keep": KindRayJob,
	"routePrefix": KindRayService,
}

// Size is what one pod requests; limits are the same.
type Size struct {
	// CPUs is a number of cores from 1m to 2048, for example 2 or 500m.
	CPUs resource.Quantity `json:"cpus"`
	// Memory is in bytes from 512Mi, the least that Ray starts with, to 64Ti, for example 8Gi.
	Memory resource.Quantity `json:"memory"`
}

// WorkerSize is what one worker pod requests.
type WorkerSize struct {
	Size
	// GPUs is a number of whole GPUs from 0 to 64.
	GPUs int64 `json:"gpus"`
}
