package report

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// withMessage is the job with KubeRay's words for its end.
func withMessage(j Job, status rayv1.JobStatus, reason rayv1.JobFailedReason, message string) Job {
	j.RayJob.Status.JobStatus, j.RayJob.Status.Reason, j.RayJob.Status.Message = status, reason, message
	return j
}

func TestWaitEndsAsTheJobEnds(t *testing.T) {
	deactivated := job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadQuotaReserved, kueue.WorkloadEvicted)
	deactivated.Workload.Spec.Active = ptr.To(false)
	forgotten := complete()
	forgotten.Workload = nil
	for name, c := range map[string]struct {
		job Job
		// says are words of the error; none for success.
		says []string
	}{
		"succeeded": {job: complete()},
		"succeeded, quota not back yet": {job: withMessage(job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadAdmitted),
			rayv1.JobStatusSucceeded, "", "")},
		"succeeded, retention is over": {job: forgotten},
		"failed": {
			withMessage(job(false, rayv1.JobDeploymentStatusFailed, kueue.WorkloadFinished), rayv1.JobStatusFailed, rayv1.AppFailed, "exit 3"),
			[]string{"smoke: RayJob team/run has ended as Failed (FAILED, AppFailed): exit 3", "kubectl -n team logs job/run", "workloads.smoke.generation"},
		},
		"failed before Ray ran": {
			withMessage(job(false, rayv1.JobDeploymentStatusFailed, kueue.WorkloadFinished), "", rayv1.DeadlineExceeded, "too late"),
			[]string{"has ended as Failed (DeadlineExceeded): too late"},
		},
		"stopped": {
			withMessage(job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadFinished), rayv1.JobStatusStopped, "", "stopped by hand"),
			[]string{"has ended as Complete (STOPPED): stopped by hand"},
		},
		"refused by KubeRay": {
			withMessage(job(false, rayv1.JobDeploymentStatusValidationFailed, kueue.WorkloadAdmitted), "", "", "name too long"),
			[]string{"KubeRay refuses RayJob team/run (ValidationFailed): name too long", "holds its quota"},
		},
		"orphaned": {job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished), []string{"though it has not run", "generation"}},
		"deactivated": {deactivated, []string{
			"Kueue has deactivated the Workload of RayJob team/run", "Evicted message", "kubectl -n team describe workload rayjob-run",
		}},
	} {
		told, err := newWorld(c.job).wait(t.Context())
		if len(c.says) == 0 {
			if want := "smoke: succeeded; its result lies in https://account.blob.core.windows.net/models/run-id\n"; err != nil || !strings.HasSuffix(told, want) {
				t.Errorf("%s: told %q, %v", name, told, err)
			}
			if strings.Contains(told, "not been seen") {
				t.Errorf("%s: told %q of a job that has ended", name, told)
			}
			continue
		}
		for _, words := range c.says {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v does not say %q", name, err, words)
			}
		}
	}
}

func TestWaitKnowsWhatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(running())
		go func() {
			time.Sleep(time.Minute)
			if err := w.ray.RayV1().RayJobs("team").Delete(t.Context(), "run", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}()
		if _, err := w.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "RayJob team/run was deleted while it was waited for") {
			t.Errorf("got %v", err)
		}
		if _, err := w.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no RayJob team/run") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWaitEndsWithItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		_, err := newWorld(running()).wait(ctx)
		for _, words := range []string{"the deadline has passed after 1h30m0s", "Ray job RUNNING", "goes on without this command"} {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v does not say %q", err, words)
			}
		}
	})
}

func TestWaitTellsOnlyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pending := job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadQuotaReserved)
		first := kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "other", UID: "uid-first"}}
		first.Spec.QueueName, first.Spec.Priority = "their-queue", ptr.To[int32](7)
		w := newWorld(pending, &first, &kueue.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Name: "their-queue", Namespace: "other"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cluster-queue"},
		})
		go func() {
			time.Sleep(time.Minute + time.Millisecond) // never while the other looks
			w.become(t, admitted())
			time.Sleep(time.Minute)
			w.become(t, job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadQuotaReserved, kueue.WorkloadEvicted))
			time.Sleep(time.Minute)
			w.become(t, complete())
		}()
		told, err := w.wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"waits in ClusterQueue cluster-queue, 2 of 2: QuotaReserved message",
			"RayJob Suspended",
			"admitted by ClusterQueue cluster-queue: head=cpu",
			"pods ready 1 of 4",
			"RayJob Running, Ray job RUNNING",
			"was put back (: Evicted message); waits in ClusterQueue cluster-queue, 2 of 2: QuotaReserved message",
			"RayJob Suspended",
			"RayJob Complete, Ray job SUCCEEDED",
			"succeeded; its result lies in https://account.blob.core.windows.net/models/run-id",
		}
		var got []string
		for l := range strings.Lines(told) {
			_, text, _ := strings.Cut(strings.TrimSpace(l), " smoke: ")
			got = append(got, text)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestWaitOutlastsAClusterThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(complete())
		start, silence := time.Now(), 2*time.Minute
		w.kueue.PrependReactor("list", "workloads", func(k8stesting.Action) (bool, runtime.Object, error) {
			return time.Since(start) < silence, nil, errors.New("connection refused")
		})
		told, err := w.wait(t.Context())
		if err != nil || strings.Count(told, "the cluster does not answer: listing Workloads: connection refused\n") != 1 {
			t.Errorf("told %q, %v", told, err)
		}
		start, silence = time.Now(), time.Hour
		if _, err := w.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "the cluster has not answered for 5m0s") {
			t.Errorf("got %v", err)
		}
	})
}

// TestWaitKnowsAMissingAPIFromAMissingJob: both are 404, and Kueue may be just
// about to be installed.
func TestWaitKnowsAMissingAPIFromAMissingJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(complete())
		w.kueue.PrependReactor("list", "workloads", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "list", kueue.Resource("workloads"), "", "", 0, true)
		})
		if _, err := w.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "listing Workloads: the server could not find the requested resource") {
			t.Errorf("got %v", err)
		}
	})
}

func TestWaitDoesNotRepeatAForbiddenQuestion(t *testing.T) {
	w := newWorld(complete())
	w.kueue.PrependReactor("list", "workloads", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "not you"}}
	})
	if _, err := w.wait(t.Context()); err == nil || !strings.Contains(err.Error(), "these credentials may not look") {
		t.Errorf("got %v", err)
	}
}

func TestWaitKnowsOnlyRayKinds(t *testing.T) {
	waiter := Waiter{Workload: "smoke", Run: Run{Kind: "Job"}}
	if err := waiter.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), `smoke is of kind "Job"`) {
		t.Errorf("got %v", err)
	}
}
