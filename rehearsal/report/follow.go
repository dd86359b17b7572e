package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/internal/aks"
)

// interval is short enough to see every state of a job that lasts seconds.
const interval = 300 * time.Millisecond

// Leisure is the interval for jobs that last minutes, on a machine that has
// better things to do.
const Leisure = 3 * time.Second

// Seen is what was observed of one job while it ran. Kueue and KubeRay remove
// most of it when a job ends.
type Seen struct {
	Job Job
	// Admitted is set once Kueue admitted the job.
	Admitted bool
	// Flavors by pod set.
	Flavors map[string]string
	// Placements are the nodes' pools by pod kind: head, worker, submitter.
	Placements map[string][]string
}

// copied is for callers: the follower goes on writing into its own maps.
func (s *Seen) copied() Seen {
	c := *s
	c.Flavors, c.Placements = maps.Clone(s.Flavors), maps.Clone(s.Placements)
	return c
}

// Follower watches a cluster's jobs from before they exist.
type Follower struct {
	// Interval is the time between two looks.
	Interval time.Duration

	kubeconfig func() string
	progress   io.Writer

	mu     sync.Mutex
	seen   map[string]*Seen
	states map[string]string
	err    error
}

// NewFollower answers a follower of the cluster whose kubeconfig lies where the
// function says; "" means that there is no cluster yet. Changes are told to
// progress.
func NewFollower(kubeconfig func() string, progress io.Writer) *Follower {
	return &Follower{Interval: interval, kubeconfig: kubeconfig, progress: progress, seen: map[string]*Seen{}, states: map[string]string{}}
}

// Run follows until ctx ends.
func (f *Follower) Run(ctx context.Context) {
	for {
		err := f.look(ctx)
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(f.Interval):
		}
	}
}

// look reads the jobs once. A cluster or an API that is not there yet has none.
func (f *Follower) look(ctx context.Context) error {
	path := f.kubeconfig()
	if path == "" {
		return nil
	}
	reader, err := Open(path)
	if err != nil {
		return err
	}
	jobs, err := reader.Jobs(ctx)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, job := range jobs {
		f.note(job)
	}
	// A run that was replaced will never end.
	maps.DeleteFunc(f.seen, func(name string, _ *Seen) bool {
		return !slices.ContainsFunc(jobs, func(j Job) bool { return key(j) == name })
	})
	return nil
}

func key(j Job) string { return j.RayJob.Namespace + "/" + j.RayJob.Name }

func (f *Follower) note(job Job) {
	name := key(job)
	s := f.seen[name]
	if s == nil {
		s = &Seen{Flavors: map[string]string{}, Placements: map[string][]string{}}
		f.seen[name] = s
	}
	s.Job = job
	s.Admitted = s.Admitted || job.Condition(kueue.WorkloadAdmitted)
	for set, flavor := range job.Flavors() {
		s.Flavors[set] = flavor
	}
	for _, pod := range job.Pods {
		pool, kind := job.Pools[pod.Spec.NodeName], PodKind(pod)
		if pool != "" && !slices.Contains(s.Placements[kind], pool) {
			s.Placements[kind] = append(s.Placements[kind], pool)
		}
	}
	line := job.Queue()
	if ray := state(job.RayJob); ray != "-" {
		line += ", Ray job " + ray
	}
	if f.states[name] != line {
		f.states[name] = line
		fmt.Fprintf(f.progress, "job %s: %s\n", name, line)
	}
}

// PodKind is what the pod is in its job: head, worker or submitter.
func PodKind(pod corev1.Pod) string {
	if kind := pod.Labels[rayutils.RayNodeTypeLabelKey]; kind != "" {
		return kind
	}
	return "submitter"
}

// Wait returns what was seen of the named RayJobs once all of them have ended.
func (f *Follower) Wait(ctx context.Context, names []string) ([]Seen, error) {
	for {
		list, waiting, err := f.named(names)
		if len(waiting) == 0 {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return list, errors.Join(fmt.Errorf("%w; not ended: %s", ctx.Err(), strings.Join(waiting, ", ")), err)
		case <-time.After(f.Interval):
		}
	}
}

// named answers what was seen of the named jobs, in their order, those that
// have not ended, and what was wrong with the last look.
func (f *Follower) named(names []string) (list []Seen, waiting []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		state := "not seen"
		for _, s := range f.seen {
			if s.Job.RayJob.Name != name {
				continue
			}
			list = append(list, s.copied())
			state = s.Job.Queue()
			if s.Job.Ended() {
				state = ""
			}
		}
		if state != "" {
			waiting = append(waiting, name+" ("+state+")")
		}
	}
	return list, waiting, f.err
}

// Seen answers what was seen of every job that there is.
func (f *Follower) Seen() []Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]Seen, 0, len(f.seen))
	for _, name := range slices.Sorted(maps.Keys(f.seen)) {
		list = append(list, f.seen[name].copied())
	}
	return list
}

// PrintSeen writes what was observed as a table.
func PrintSeen(w io.Writer, seen []Seen) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tQUEUE\tSTATE\tFLAVORS\tPODS ON POOLS\tRAY")
	for _, s := range seen {
		placements := map[string]string{}
		for kind, pools := range s.Placements {
			placements[kind] = strings.Join(pools, "+")
		}
		state := s.Job.Queue()
		if s.Admitted && state == "finished" {
			state = "admitted, finished"
		}
		fmt.Fprintf(table, "%s/%s\t%s\t%s\t%s\t%s\t%s\n", s.Job.RayJob.Namespace, s.Job.RayJob.Name,
			s.Job.RayJob.Labels[aks.LabelQueue], state, pairs(s.Flavors), pairs(placements), s.Job.RayJob.Status.JobStatus)
	}
	return table.Flush()
}
