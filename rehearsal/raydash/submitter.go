package raydash

import (
	"context"
	"fmt"
	"slices"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SubmitterContainer is the name of the container by which a submitter pod is
// known; KubeRay gives it to the one it makes itself, and so does the program.
const SubmitterContainer = rayutils.SubmitterContainerName

// playSubmitters does what `ray job submit` and `ray job logs --follow` do in
// the simulated submitter pods: submit once, end with the job.
func (h *Heads) playSubmitters(ctx context.Context) {
	for _, pod := range h.pods.List() {
		if pod.Spec.Containers[0].Name != SubmitterContainer || pod.Status.Phase != corev1.PodRunning ||
			pod.DeletionTimestamp != nil {
			continue
		}
		if err := h.playSubmitter(ctx, pod); err != nil && ctx.Err() == nil {
			h.Log.Warn("submitter", "pod", pod.Name, "error", err)
		}
	}
}

func (h *Heads) playSubmitter(ctx context.Context, pod *corev1.Pod) error {
	rayJob, err := h.ray.RayV1().RayJobs(pod.Namespace).Get(ctx, pod.Labels[batchv1.JobNameLabel], metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("finding the RayJob: %w", err)
	}
	head := h.head(pod.Namespace, rayJob.Status.RayClusterName)
	if head == nil || rayJob.Status.JobId == "" {
		return nil // not there yet
	}
	submit := h.submit
	if h.Real != nil {
		submit = h.Real.Submit
	}
	status, err := submit(ctx, head, rayJob)
	if err != nil || !rayv1.IsJobTerminal(status) {
		return err
	}
	return h.endPod(ctx, pod, status)
}

// submit registers the job at its head, once, and answers its status.
func (h *Heads) submit(_ context.Context, head *corev1.Pod, rayJob *rayv1.RayJob) (rayv1.JobStatus, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs[head.UID] == nil {
		h.jobs[head.UID] = map[string]*job{}
	}
	outcome, err := h.outcome(jobKind, rayJob.Name)
	if err != nil {
		return "", err
	}
	j := h.jobs[head.UID][rayJob.Status.JobId]
	if j == nil {
		j = &job{id: rayJob.Status.JobId, entrypoint: rayJob.Spec.Entrypoint, submitted: time.Now()}
		h.jobs[head.UID][j.id] = j
	}
	if j.ended.IsZero() {
		// Read anew each time, so that a test can shorten a job that runs.
		j.outcome = outcome
	}
	return j.status(h.complete(head), time.Now()), nil
}

// head finds the running head of a Ray cluster.
func (h *Heads) head(namespace, cluster string) *corev1.Pod {
	for _, pod := range h.pods.List() {
		if pod.Namespace == namespace && cluster != "" && pod.Labels[rayutils.RayClusterLabelKey] == cluster && isHead(pod) &&
			pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			return pod
		}
	}
	return nil
}

// complete says whether every pod of the head's cluster runs.
func (h *Heads) complete(head *corev1.Pod) bool {
	return !slices.ContainsFunc(h.pods.List(), func(pod *corev1.Pod) bool {
		return ofCluster(pod, head) && pod.Status.Phase != corev1.PodRunning
	})
}

// workers counts the workers of the head's cluster.
func (h *Heads) workers(head *corev1.Pod) (n int) {
	for _, pod := range h.pods.List() {
		if ofCluster(pod, head) && !isHead(pod) && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

// ofCluster says whether the pod is a Ray node of the head's cluster.
func ofCluster(pod, head *corev1.Pod) bool {
	return pod.Namespace == head.Namespace && pod.Labels[rayutils.RayNodeTypeLabelKey] != "" &&
		pod.Labels[rayutils.RayClusterLabelKey] == head.Labels[rayutils.RayClusterLabelKey]
}

// endPod ends the submitter's container: 0 if the job succeeded, else 1, which
// is what `ray job logs --follow` exits with.
func (h *Heads) endPod(ctx context.Context, pod *corev1.Pod, status rayv1.JobStatus) error {
	pod = pod.DeepCopy()
	now := metav1.Now()
	terminated := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}
	pod.Status.Phase = corev1.PodSucceeded
	if status != rayv1.JobStatusSucceeded {
		terminated.Reason, terminated.ExitCode = "Error", 1
		pod.Status.Phase = corev1.PodFailed
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		s.Ready, s.State = false, corev1.ContainerState{Terminated: terminated}
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			c.Status, c.LastTransitionTime = corev1.ConditionFalse, now
		}
	}
	_, err := h.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // seen again at the next turn
	}
	return err
}
