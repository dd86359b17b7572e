package report

import (
	"context"
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/internal/aks"
)

func (w *Waiter) lookAtJob(ctx context.Context) (view, error) {
	job, at, err := w.Reader.Job(ctx, w.Run.Namespace, w.Run.Name)
	if err != nil {
		return view{}, err
	}
	var s view
	if text := job.queueing(at); text != "" {
		s.say("queue", "%s", text)
	}
	if job.Condition(kueue.WorkloadAdmitted) && !job.Condition(kueue.WorkloadFinished) {
		s.say("pods", "%s", podsReady(job.Pods, job.podCount()))
	}
	if status := job.RayJob.Status; status.JobDeploymentStatus != "" {
		text := "RayJob " + string(status.JobDeploymentStatus)
		if status.JobStatus != "" {
			text += ", Ray job " + string(status.JobStatus)
		}
		s.say("ray", "%s", text)
	}
	s.ended, s.failure = w.outcome(job)
	if s.ended && s.failure == nil {
		s.say("end", "succeeded; %s", w.result())
	}
	return s, nil
}

func (w *Waiter) result() string {
	if w.Run.Result != "" {
		return "its result lies in " + w.Run.Result
	}
	return fmt.Sprintf("it writes no result but its log: kubectl -n %s logs job/%s", w.Run.Namespace, w.Run.Name)
}

// outcome says whether a job has ended, and how if not well.
func (w *Waiter) outcome(job Job) (ended bool, failure error) {
	status := job.RayJob.Status
	fail := func(format string, args ...any) (bool, error) {
		return true, fmt.Errorf("%s: %s", w.Workload, fmt.Sprintf(format, args...))
	}
	again := fmt.Sprintf("to run it again, raise workloads.%s.generation and run pulumi up", w.Workload)
	switch {
	case job.Succeeded():
		return true, nil
	case job.Orphaned():
		return fail("Kueue gave the quota of %s back though it has not run; %s", w.object(), again)
	case status.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed:
		return fail("KubeRay refuses %s (ValidationFailed): %s. It will not run, and holds its quota until it is deleted: change "+
			"workloads.%s or set enabled to false there, and run pulumi up", w.object(), status.Message, w.Workload)
	case job.done():
		return fail("%s has ended as %s (%s): %s. Its log: kubectl -n %s logs job/%s; %s", w.object(), status.JobDeploymentStatus,
			strings.Trim(string(status.JobStatus)+", "+string(status.Reason), ", "), status.Message, w.Run.Namespace, w.Run.Name, again)
	case job.Workload != nil && !ptr.Deref(job.Workload.Spec.Active, true):
		return fail("Kueue has deactivated the Workload of %s%s. See kubectl -n %s describe workload %s; %s",
			w.object(), because(job, kueue.WorkloadEvicted), w.Run.Namespace, job.Workload.Name, again)
	}
	return false, nil
}

// because is a condition's reason and message, to be put behind a sentence.
func because(job Job, kind string) string {
	c := apimeta.FindStatusCondition(job.Workload.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", c.Reason, c.Message)
}

// queueing tells where the job is on its way through the queue; "" once that is
// behind it.
func (j Job) queueing(at Line) string {
	switch {
	case j.RayJob.Labels[aks.LabelQueue] == "":
		return "is in no queue"
	case j.Workload == nil && j.done():
		return ""
	case j.Workload == nil:
		return "has not been seen by Kueue so far"
	case j.Condition(kueue.WorkloadFinished):
		return ""
	case j.Condition(kueue.WorkloadQuotaReserved) && j.Condition(kueue.WorkloadEvicted):
		return "loses its quota" + because(j, kueue.WorkloadEvicted)
	case j.Condition(kueue.WorkloadAdmitted):
		return fmt.Sprintf("admitted by ClusterQueue %s: %s", j.admittedBy(), pairs(j.Flavors()))
	case j.Condition(kueue.WorkloadQuotaReserved):
		return fmt.Sprintf("has quota in ClusterQueue %s, and waits for admission checks", j.admittedBy())
	}
	text := "waits, but its LocalQueue is not there"
	if at.Position > 0 {
		text = fmt.Sprintf("waits in ClusterQueue %s, %d of %d", at.ClusterQueue, at.Position, at.Length)
	}
	if j.Condition(kueue.WorkloadEvicted) {
		text = "was put back" + because(j, kueue.WorkloadEvicted) + "; " + text
	}
	if r := j.Workload.Status.RequeueState; r != nil && r.RequeueAt != nil {
		text += fmt.Sprintf(", not before %s (attempt %d)", r.RequeueAt.UTC().Format("15:04:05Z"), ptr.Deref(r.Count, 0)+1)
	}
	if c := apimeta.FindStatusCondition(j.Workload.Status.Conditions, kueue.WorkloadQuotaReserved); c != nil && c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

// admittedBy names the ClusterQueue that the job's quota is of.
func (j Job) admittedBy() string {
	if j.Workload.Status.Admission == nil {
		return "?" // quota and assignment are written at once, so nobody has seen this
	}
	return string(j.Workload.Status.Admission.ClusterQueue)
}

// podCount is the number of pods that the job is to have.
func (j Job) podCount() int {
	n := 0
	for _, set := range j.Workload.Spec.PodSets {
		n += int(set.Count)
	}
	return n
}

// podsReady counts the pods that are ready, or have done their work.
func podsReady(pods []corev1.Pod, of int) string {
	ready := 0
	for _, p := range pods {
		if p.Status.Phase == corev1.PodSucceeded || isReady(p) {
			ready++
		}
	}
	return fmt.Sprintf("pods ready %d of %d", ready, max(of, len(pods)))
}

func isReady(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
