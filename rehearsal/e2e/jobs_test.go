package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/rehearsal/report"
)

// checkRan fails unless the run went through the queue, on the right nodes.
func (e *env) checkRan(f *report.Follower, run string) {
	e.Helper()
	if err := e.ran(f, run, 2*time.Minute); err != nil {
		e.Error(err)
	}
}

// ran waits for the run and says what is wrong with how it went: not admitted,
// on another flavor or pool than the CPU's, failed.
func (e *env) ran(f *report.Follower, run string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(e.Context(), within)
	defer cancel()
	seen, err := f.Wait(ctx, []string{run})
	if err != nil {
		return err
	}
	s := seen[0]
	if !s.Admitted || !s.Job.Succeeded() {
		return fmt.Errorf("%s: admitted %v, queue %s, Ray job %s", run, s.Admitted, s.Job.Queue(), s.Job.RayJob.Status.JobStatus)
	}
	for _, set := range []string{"head", "workers", "submitter"} {
		if s.Flavors[set] != "cpu" {
			return fmt.Errorf("%s: pod set %s has flavor %q of %v, want cpu", run, set, s.Flavors[set], s.Flavors)
		}
	}
	for _, kind := range []string{"head", "worker", "submitter"} {
		if !slices.Equal(s.Placements[kind], []string{"cpu"}) {
			return fmt.Errorf("%s: %s pods ran on pools %v, want cpu", run, kind, s.Placements[kind])
		}
	}
	return nil
}

// onlyRun answers the name of the one RayJob that there is.
func (e *env) onlyRun() string {
	e.Helper()
	jobs, err := e.reader().Jobs(e.Context())
	must(e.T, err)
	if len(jobs) != 1 {
		e.Fatalf("%d RayJobs, want one", len(jobs))
	}
	return jobs[0].RayJob.Name
}

func (e *env) job(name string) (report.Job, error) {
	jobs, err := e.reader().Jobs(e.Context())
	if err != nil {
		return report.Job{}, err
	}
	for _, j := range jobs {
		if j.RayJob.Name == name {
			return j, nil
		}
	}
	return report.Job{}, fmt.Errorf("RayJob %s: %w", name, errNotYet)
}

func (e *env) awaitState(run, state string, in func(report.Job) bool) {
	e.Helper()
	e.eventually(time.Minute, func() error {
		j, err := e.job(run)
		if err != nil {
			return err
		}
		if !in(j) {
			return fmt.Errorf("%s is not %s but %s, Ray job %s", run, state, j.Queue(), j.RayJob.Status.JobStatus)
		}
		return nil
	})
}

// fillQueue takes the whole CPU quota with a Workload of no job, so that the
// next one has to wait, and answers how to give it back.
func (e *env) fillQueue() (release func()) {
	e.Helper()
	client := e.reader().Kueue.KueueV1beta2()
	queues, err := client.LocalQueues("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	if len(queues.Items) != 1 {
		e.Fatalf("%d LocalQueues, want one", len(queues.Items))
	}
	queue := queues.Items[0]
	clusterQueue, err := client.ClusterQueues().Get(e.Context(), string(queue.Spec.ClusterQueue), metav1.GetOptions{})
	must(e.T, err)
	quota := corev1.ResourceList{}
	for _, r := range clusterQueue.Spec.ResourceGroups[0].Flavors[0].Resources {
		if r.Name == corev1.ResourceCPU {
			quota[r.Name] = r.NominalQuota
		}
	}
	workloads := client.Workloads(queue.Namespace)
	filler := filler(queue, quota)
	_, err = workloads.Create(e.Context(), filler, metav1.CreateOptions{})
	must(e.T, err)
	e.eventually(30*time.Second, func() error {
		w, err := workloads.Get(e.Context(), filler.Name, metav1.GetOptions{})
		if err != nil || w.Status.Admission == nil {
			return fmt.Errorf("the filler has no quota: %w", errNotYet)
		}
		return nil
	})
	return func() {
		e.Helper()
		must(e.T, workloads.Delete(e.Context(), filler.Name, metav1.DeleteOptions{}))
	}
}

func filler(queue kueue.LocalQueue, requests corev1.ResourceList) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: "filler", Namespace: queue.Namespace},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(queue.Name),
			PodSets: []kueue.PodSet{{
				Name: "main", Count: 1,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{
						Name: "filler", Image: "none", Resources: corev1.ResourceRequirements{Requests: requests},
					}},
				}},
			}},
		},
	}
}
