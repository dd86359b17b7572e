package raydash

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAJobWaitsForItsClusterRunsAndSucceeds(t *testing.T) {
	inWorld(t, "", func(w world) {
		time.Sleep(time.Minute)
		if info := w.job(); info.JobStatus != rayv1.JobStatusPending || info.EndTime != 0 {
			t.Errorf("without all pods the job is %+v", info)
		}
		w.complete()
		time.Sleep(time.Second)
		if info := w.job(); info.JobStatus != rayv1.JobStatusRunning || info.Entrypoint != "python main.py" {
			t.Errorf("with all pods the job is %+v", info)
		}
		if phase := w.pod("submitter").Status.Phase; phase != corev1.PodRunning {
			t.Errorf("while the job runs its submitter is %s", phase)
		}
		time.Sleep(defaultSeconds * time.Second)
		info := w.job()
		if info.JobStatus != rayv1.JobStatusSucceeded || info.EndTime <= info.StartTime {
			t.Errorf("after its time the job is %+v", info)
		}
	})
}

func TestTheSubmitterEndsWithItsJob(t *testing.T) {
	for status, want := range map[rayv1.JobStatus]struct {
		phase corev1.PodPhase
		code  int32
	}{rayv1.JobStatusSucceeded: {corev1.PodSucceeded, 0}, rayv1.JobStatusFailed: {corev1.PodFailed, 1}} {
		t.Run(string(status), func(t *testing.T) {
			inWorld(t, `{"": {"seconds": 3, "status": "`+string(status)+`"}}`, func(w world) {
				w.complete()
				time.Sleep(2 * time.Second)
				if phase := w.pod("submitter").Status.Phase; phase != corev1.PodRunning {
					t.Fatalf("the submitter is %s before the job has ended", phase)
				}
				time.Sleep(3 * time.Second)
				pod := w.pod("submitter")
				state := pod.Status.ContainerStatuses[0].State
				if pod.Status.Phase != want.phase || state.Running != nil || state.Terminated == nil || state.Terminated.ExitCode != want.code {
					t.Errorf("the submitter is %s with state %+v, want %s with exit code %d", pod.Status.Phase, state, want.phase, want.code)
				}
				for _, c := range pod.Status.Conditions {
					if ready := c.Type == corev1.PodReady; ready == (c.Status == corev1.ConditionTrue) {
						t.Errorf("condition %s is %s", c.Type, c.Status)
					}
				}
				if got := w.job().JobStatus; got != status {
					t.Errorf("the job is %s, want %s", got, status)
				}
			})
		})
	}
}

func TestARunningJobFollowsTheOutcomesFile(t *testing.T) {
	inWorld(t, `{"": {"seconds": 600}}`, func(w world) {
		if err := os.WriteFile(w.outcomes, []byte(`{"": {"seconds": 3, "status": "FAILED"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		w.complete()
		time.Sleep(5 * time.Second)
		if got := w.job().JobStatus; got != rayv1.JobStatusFailed {
			t.Errorf("the job is %s, want %s", got, rayv1.JobStatusFailed)
		}
	})
}

func TestTheTokenIsChecked(t *testing.T) {
	inWorld(t, "", func(w world) {
		for header, want := range map[string]int{
			"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, "Bearer ": http.StatusUnauthorized,
			token: http.StatusUnauthorized, "Bearer " + token + "x": http.StatusUnauthorized, "Bearer " + token: http.StatusOK,
		} {
			for _, path := range []string{"/api/jobs/job-1", "/api/jobs/"} {
				if code, body := w.ask(http.MethodGet, path, header); code != want {
					t.Errorf("%s with %q: %d %s, want %d", path, header, code, body, want)
				}
			}
		}
		// A job that is not there is no way around the check.
		if code, _ := w.ask(http.MethodGet, "/api/jobs/none", ""); code != http.StatusUnauthorized {
			t.Errorf("an unknown job without a token: %d", code)
		}
	})
}

func TestAClusterWithoutTokensAsksForNone(t *testing.T) {
	inWorld(t, "", func(w world) {
		clusters := w.ray.RayV1().RayClusters(space)
		cluster, err := clusters.Get(t.Context(), "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cluster.Spec.AuthOptions = nil
		if _, err := clusters.Update(t.Context(), cluster, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if code, body := w.ask(http.MethodGet, "/api/jobs/job-1", ""); code != http.StatusOK {
			t.Errorf("%d %s", code, body)
		}
	})
}

func TestOnlyWhatIsSimulatedIsAnswered(t *testing.T) {
	inWorld(t, "", func(w world) {
		auth := "Bearer " + token
		if code, _ := w.ask(http.MethodGet, "/api/jobs/none", auth); code != http.StatusNotFound {
			t.Errorf("an unknown job: %d, want 404", code)
		}
		if code, body := w.ask(http.MethodPost, "/api/jobs/", auth); code != http.StatusNotImplemented {
			t.Errorf("a submission over HTTP: %d %s, want 501", code, body)
		}
		if code, _ := w.ask(http.MethodDelete, "/api/serve/applications/", auth); code != http.StatusNotImplemented {
			t.Errorf("a deletion of Serve's applications: %d, want 501", code)
		}
		code, body := w.ask(http.MethodGet, "/api/jobs/", auth)
		var list []raytypes.RayJobInfo
		if err := json.Unmarshal(body, &list); code != http.StatusOK || err != nil || len(list) != 1 || list[0].SubmissionId != "job-1" {
			t.Errorf("the list of jobs: %d %s, %v", code, body, err)
		}
		for name, port := range map[string]int32{"head": 6379, "worker": rayutils.DefaultDashboardPort} {
			if conn, err := w.heads.Dial(t.Context(), w.pod(name), port); err == nil {
				conn.Close()
				t.Errorf("port %d of the %s answers", port, name)
			}
		}
		if w.heads.Owns(w.pod("worker")) || !w.heads.Owns(w.pod("head")) {
			t.Error("not exactly the head is the stand-in's, where nothing is served")
		}
	})
}

func TestANewHeadKnowsNothingOfTheOldOnesJobs(t *testing.T) {
	inWorld(t, "", func(w world) {
		if id := w.job().JobId; id != "job-1" {
			t.Fatalf("the first head has job %q", id)
		}
		pods := w.client.CoreV1().Pods(space)
		if err := pods.Delete(t.Context(), "submitter", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		head := w.pod("head")
		head.UID = "uid-of-the-new-head"
		if _, err := pods.Update(t.Context(), head, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if code, _ := w.ask(http.MethodGet, "/api/jobs/job-1", "Bearer "+token); code != http.StatusNotFound {
			t.Errorf("the old head's job: %d, want 404", code)
		}
	})
}

// A job that is stopped ends as stopped, once, and only with the token.
func TestAJobIsStopped(t *testing.T) {
	inWorld(t, `{"": {"seconds": 600}}`, func(w world) {
		w.complete()
		time.Sleep(2 * time.Second)
		if code, body := w.ask(http.MethodPost, "/api/jobs/job-1/stop", ""); code < 400 {
			t.Errorf("without the token: %d %s", code, body)
		}
		for _, want := range []bool{true, false} {
			code, body := w.ask(http.MethodPost, "/api/jobs/job-1/stop", "Bearer "+token)
			var answer raytypes.RayJobStopResponse
			if err := json.Unmarshal(body, &answer); code != http.StatusOK || err != nil || answer.Stopped != want {
				t.Errorf("%d %s, want stopped %v; %v", code, body, want, err)
			}
		}
		if info := w.job(); info.JobStatus != rayv1.JobStatusStopped || info.EndTime == 0 {
			t.Errorf("the job is %+v", info)
		}
		if code, _ := w.ask(http.MethodPost, "/api/jobs/none/stop", "Bearer "+token); code != http.StatusNotFound {
			t.Errorf("an unknown job: %d, want 404", code)
		}
	})
}
