package report

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// none is a cluster that is not there.
func none() string { return "" }

// running is a job with quota, a head and a submitter on pool cpu.
func running() Job {
	j := job(false, rayv1.JobDeploymentStatusRunning, kueue.WorkloadAdmitted)
	j.RayJob.Status.JobStatus = rayv1.JobStatusRunning
	j.Workload.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{
		{Name: "head", Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "cpu"}},
	}}
	j.Pools = map[string]string{"node-1": "cpu"}
	node := corev1.PodSpec{NodeName: "node-1"}
	j.Pods = []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ray.io/node-type": "head"}}, Spec: node},
		{Spec: node}, // the submitter's
		{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"ray.io/node-type": "worker"}}}, // not bound yet
	}
	return j
}

// note tells the follower what one look showed.
func note(f *Follower, jobs ...Job) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range jobs {
		f.note(j)
	}
}

// complete is the same job when Kueue and KubeRay have cleared up.
func complete() Job {
	j := job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadFinished)
	j.RayJob.Status.JobStatus = rayv1.JobStatusSucceeded
	return j
}

func TestWhatWasSeenOfAJobOutlivesItsPodsAndQuota(t *testing.T) {
	var progress strings.Builder
	f := NewFollower(none, &progress)
	note(f, running())
	note(f, running())
	note(f, complete())
	seen, err := f.Wait(t.Context(), []string{"run"})
	if err != nil || len(seen) != 1 {
		t.Fatalf("seen %+v, %v", seen, err)
	}
	s := seen[0]
	if !s.Admitted || s.Flavors["head"] != "cpu" || !s.Job.Succeeded() {
		t.Errorf("seen %+v", s)
	}
	if kinds := slices.Sorted(maps.Keys(s.Placements)); !slices.Equal(kinds, []string{"head", "submitter"}) || !slices.Equal(s.Placements["head"], []string{"cpu"}) {
		t.Errorf("placements %v", s.Placements)
	}
	if got, want := progress.String(), "job team/run: admitted, Ray job RUNNING\njob team/run: finished, Ray job SUCCEEDED\n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	var table strings.Builder
	if err := PrintSeen(&table, seen); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"team/run", "admitted, finished", "head=cpu", "submitter=cpu", "SUCCEEDED"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, table.String())
		}
	}
}

func TestWaitEndsWithTheLastOfTheNamedJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFollower(none, &strings.Builder{})
		other, stuck := complete(), running()
		other.RayJob.Name, stuck.RayJob.Name = "other", "stuck"
		note(f, running(), other, stuck)
		go func() {
			time.Sleep(time.Minute)
			note(f, complete(), other)
		}()
		start := time.Now()
		seen, err := f.Wait(t.Context(), []string{"run", "other"})
		if err != nil || len(seen) != 2 || time.Since(start) < time.Minute {
			t.Fatalf("after %s: %+v, %v", time.Since(start), seen, err)
		}
		if seen[0].Job.RayJob.Name != "run" || seen[1].Job.RayJob.Name != "other" {
			t.Errorf("seen %s and %s, in another order than asked for", seen[0].Job.RayJob.Name, seen[1].Job.RayJob.Name)
		}
	})
}

func TestWaitDoesNotWaitForAnOrphan(t *testing.T) {
	f := NewFollower(none, &strings.Builder{})
	note(f, job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if seen, err := f.Wait(ctx, []string{"run"}); err != nil || len(seen) != 1 || seen[0].Job.Succeeded() {
		t.Errorf("answered %+v, %v", seen, err)
	}
}

func TestWaitSaysWhatItWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFollower(none, &strings.Builder{})
		note(f, running())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		seen, err := f.Wait(ctx, []string{"run", "never-made"})
		if !errors.Is(err, context.DeadlineExceeded) || len(seen) != 1 {
			t.Fatalf("answered %+v, %v", seen, err)
		}
		for _, want := range []string{"run (admitted)", "never-made (not seen)"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
	})
}
