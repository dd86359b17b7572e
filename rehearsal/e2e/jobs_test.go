package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/internal/aks"
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

// runOf answers the name of the one RayJob of a workload.
func (e *env) runOf(workload string) string {
	e.Helper()
	jobs, err := e.reader().Jobs(e.Context())
	must(e.T, err)
	var names []string
	for _, j := range jobs {
		if j.RayJob.Labels[aks.LabelName] == workload {
			names = append(names, j.RayJob.Name)
		}
	}
	if len(names) != 1 {
		e.Fatalf("%s has the runs %v, want one", workload, names)
	}
	return names[0]
}

// fillQueues takes the CPU flavor's free quota of every queue, with Workloads
// of no job, so that the next job has to wait, and answers how to give it back.
func (e *env) fillQueues() (release func()) {
	e.Helper()
	client := e.reader().Kueue.KueueV1beta2()
	queues, err := client.LocalQueues("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	for _, queue := range queues.Items {
		clusterQueue, err := client.ClusterQueues().Get(e.Context(), string(queue.Spec.ClusterQueue), metav1.GetOptions{})
		must(e.T, err)
		workloads := client.Workloads(queue.Namespace)
		_, err = workloads.Create(e.Context(), filler(queue, freeCPU(clusterQueue)), metav1.CreateOptions{})
		must(e.T, err)
		e.eventually(30*time.Second, func() error {
			w, err := workloads.Get(e.Context(), fillerName, metav1.GetOptions{})
			if err != nil || w.Status.Admission == nil {
				return fmt.Errorf("the filler of %s has no quota: %w", queue.Namespace, errNotYet)
			}
			return nil
		})
	}
	return func() {
		e.Helper()
		for _, queue := range queues.Items {
			must(e.T, client.Workloads(queue.Namespace).Delete(e.Context(), fillerName, metav1.DeleteOptions{}))
		}
	}
}

// freeCPU is what a queue has left of the CPU flavor's own quota.
func freeCPU(queue *kueue.ClusterQueue) corev1.ResourceList {
	free := nominal(queue, "cpu", corev1.ResourceCPU)
	free.Sub(used(queue, "cpu", corev1.ResourceCPU))
	return corev1.ResourceList{corev1.ResourceCPU: free}
}

func nominal(queue *kueue.ClusterQueue, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) resource.Quantity {
	for _, f := range queue.Spec.ResourceGroups[0].Flavors {
		for _, r := range f.Resources {
			if f.Name == flavor && r.Name == name {
				return r.NominalQuota
			}
		}
	}
	return resource.Quantity{}
}

func used(queue *kueue.ClusterQueue, flavor kueue.ResourceFlavorReference, name corev1.ResourceName) resource.Quantity {
	for _, usage := range queue.Status.FlavorsReservation {
		for _, r := range usage.Resources {
			if usage.Name == flavor && r.Name == name {
				return r.Total
			}
		}
	}
	return resource.Quantity{}
}

const fillerName = "filler"

// filler is above every priority class: no job of its own queue may have its
// quota.
func filler(queue kueue.LocalQueue, requests corev1.ResourceList) *kueue.Workload {
	return &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: fillerName, Namespace: queue.Namespace},
		Spec: kueue.WorkloadSpec{
			Priority:  ptr.To[int32](1_000_000),
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
