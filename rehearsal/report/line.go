package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Line is where a job stands among those that wait in its ClusterQueue.
type Line struct {
	// ClusterQueue is "" where the job's LocalQueue is not there.
	ClusterQueue string
	// Position counts from 1; 0 says that the job does not wait.
	Position int
	// Length is the number of jobs that wait.
	Length int
}

// Job reads one RayJob, and where it stands in its queue. Pools are not read.
func (r *Reader) Job(ctx context.Context, namespace, name string) (Job, Line, error) {
	// Workloads first, as in Jobs. All of them: other namespaces may wait in the
	// same ClusterQueue.
	workloads, err := r.Kueue.KueueV1beta2().Workloads("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return Job{}, Line{}, fmt.Errorf("listing Workloads: %w", err)
	}
	queues, err := r.Kueue.KueueV1beta2().LocalQueues("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return Job{}, Line{}, fmt.Errorf("listing LocalQueues: %w", err)
	}
	rayJob, err := r.Ray.RayV1().RayJobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Job{}, Line{}, err
	}
	pods, err := r.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return Job{}, Line{}, fmt.Errorf("listing pods: %w", err)
	}
	job := join(*rayJob, workloads.Items, pods.Items)
	if job.Workload == nil {
		return job, Line{}, nil
	}
	return job, lineOf(*job.Workload, workloads.Items, queues.Items), nil
}

// lineOf answers where w stands.
func lineOf(w kueue.Workload, all []kueue.Workload, queues []kueue.LocalQueue) Line {
	leadsTo := map[string]string{}
	for _, q := range queues {
		leadsTo[q.Namespace+"/"+q.Name] = string(q.Spec.ClusterQueue)
	}
	clusterQueue := func(w kueue.Workload) string { return leadsTo[w.Namespace+"/"+string(w.Spec.QueueName)] }
	line := Line{ClusterQueue: clusterQueue(w)}
	if line.ClusterQueue == "" {
		return line
	}
	var waiting []kueue.Workload
	for _, other := range all {
		if waits(other) && clusterQueue(other) == line.ClusterQueue {
			waiting = append(waiting, other)
		}
	}
	slices.SortFunc(waiting, before)
	line.Length = len(waiting)
	line.Position = 1 + slices.IndexFunc(waiting, func(other kueue.Workload) bool { return other.UID == w.UID })
	return line
}

func waits(w kueue.Workload) bool {
	is := func(kind string) bool { return apimeta.IsStatusConditionTrue(w.Status.Conditions, kind) }
	return ptr.Deref(w.Spec.Active, true) && !is(kueue.WorkloadFinished) && !is(kueue.WorkloadQuotaReserved)
}

// before is the order in which Kueue tries Workloads (baseCompareFunc of its
// pkg/cache/queue/cluster_queue.go).
func before(a, b kueue.Workload) int {
	return cmp.Or(
		cmp.Compare(ptr.Deref(b.Spec.Priority, 0), ptr.Deref(a.Spec.Priority, 0)),
		queuedAt(a).Compare(queuedAt(b).Time),
		cmp.Compare(a.UID, b.UID),
	)
}

// queuedAt is when a Workload joined the queue's end: who could not use its
// quota in time joins it anew, who was preempted does not.
func queuedAt(w kueue.Workload) metav1.Time {
	c := apimeta.FindStatusCondition(w.Status.Conditions, kueue.WorkloadEvicted)
	if c != nil && c.Status == metav1.ConditionTrue &&
		(c.Reason == kueue.WorkloadEvictedByPodsReadyTimeout || c.Reason == kueue.WorkloadEvictedByAdmissionCheck) {
		return c.LastTransitionTime
	}
	return w.CreationTimestamp
}
