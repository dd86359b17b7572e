package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"k8s.io/client-go/tools/clientcmd"
)

// interval is short enough to see every state of a job that lasts seconds.
const interval = 300 * time.Millisecond

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

// Follower watches a cluster's jobs from before they exist.
type Follower struct {
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
	return &Follower{kubeconfig: kubeconfig, progress: progress, seen: map[string]*Seen{}, states: map[string]string{}}
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
		case <-time.After(interval):
		}
	}
}

// look reads the jobs once. A cluster or an API that is not there yet has none.
func (f *Follower) look(ctx context.Context) error {
	path := f.kubeconfig()
	if path == "" {
		return nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return err
	}
	reader, err := NewReader(config)
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
	return nil
}

func (f *Follower) note(job Job) {
	name := job.RayJob.Namespace + "/" + job.RayJob.Name
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
		if pool := pool(pod.Spec.NodeName); pool != "" {
			kind := podKind(pod)
			if !slices.Contains(s.Placements[kind], pool) {
				s.Placements[kind] = append(s.Placements[kind], pool)
			}
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

func podKind(pod corev1.Pod) string {
	if kind := pod.Labels["ray.io/node-type"]; kind != "" {
		return kind
	}
	return "submitter"
}

// pool reads the pool out of a node's name, aks-<pool>-<hash>-vmss<number>.
func pool(node string) string {
	parts := strings.Split(node, "-")
	if len(parts) < 4 {
		return node
	}
	return parts[1]
}

// Wait returns when every job that was seen has ended, with what was seen. No
// job at all is an error once the first look at a cluster succeeded.
func (f *Follower) Wait(ctx context.Context) ([]Seen, error) {
	for {
		f.mu.Lock()
		all, list := len(f.seen) > 0, []Seen{}
		for _, s := range f.seen {
			all = all && s.Job.Ended()
			list = append(list, *s)
		}
		err := f.err
		f.mu.Unlock()
		slices.SortFunc(list, func(a, b Seen) int { return strings.Compare(a.Job.RayJob.Name, b.Job.RayJob.Name) })
		if all {
			return list, nil
		}
		select {
		case <-ctx.Done():
			return list, errors.Join(fmt.Errorf("waiting for the jobs to end: %w", ctx.Err()), err)
		case <-time.After(interval):
		}
	}
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
			s.Job.RayJob.Labels[labelQueue], state, pairs(s.Flavors), pairs(placements), s.Job.RayJob.Status.JobStatus)
	}
	return table.Flush()
}
