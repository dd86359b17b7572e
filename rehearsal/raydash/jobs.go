package raydash

import (
	"net/http"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	corev1 "k8s.io/api/core/v1"
)

// job is a Ray job as the head's job manager knows it.
type job struct {
	id, entrypoint string
	outcome        Outcome
	submitted      time.Time
	// began is when the whole cluster was first there; zero before.
	began time.Time
	ended time.Time
}

// status moves the job along: PENDING until the cluster is complete, RUNNING
// for its time, then its outcome.
func (j *job) status(complete bool, now time.Time) rayv1.JobStatus {
	switch {
	case !j.ended.IsZero():
		return rayv1.JobStatus(j.outcome.Status)
	case j.began.IsZero() && !complete:
		return rayv1.JobStatusPending
	case j.began.IsZero():
		j.began = now
		return rayv1.JobStatusRunning
	case now.Sub(j.began).Seconds() >= j.outcome.Seconds:
		j.ended = now
		return rayv1.JobStatus(j.outcome.Status)
	}
	return rayv1.JobStatusRunning
}

func (j *job) info(status rayv1.JobStatus) raytypes.RayJobInfo {
	info := raytypes.RayJobInfo{
		JobStatus: status, Entrypoint: j.entrypoint, JobId: j.id, SubmissionId: j.id,
		Message:   "simulated by the rehearsal",
		StartTime: uint64(j.submitted.UnixMilli()),
	}
	if !j.ended.IsZero() {
		info.EndTime = uint64(j.ended.UnixMilli())
	}
	return info
}

// jobHandler answers a request for a job while nothing else changes it.
type jobHandler func(w http.ResponseWriter, j *job, head *corev1.Pod)

// ofJob finds the job that a request names.
func (h *Heads) ofJob(f jobHandler) podHandler {
	return func(w http.ResponseWriter, r *http.Request, head *corev1.Pod) {
		h.mu.Lock()
		defer h.mu.Unlock()
		j := h.jobs[head.UID][r.PathValue("id")]
		if j == nil {
			http.Error(w, "job "+r.PathValue("id")+" does not exist", http.StatusNotFound)
			return
		}
		f(w, j, head)
	}
}

func (h *Heads) getJob(w http.ResponseWriter, j *job, head *corev1.Pod) {
	h.answer(w, j.info(j.status(h.complete(head), time.Now())))
}

// stopJob ends a job before its time, as KubeRay asks for when a RayJob is deleted.
func (h *Heads) stopJob(w http.ResponseWriter, j *job, _ *corev1.Pod) {
	stopped := j.ended.IsZero()
	if stopped {
		j.ended, j.outcome.Status = time.Now(), string(rayv1.JobStatusStopped)
	}
	h.answer(w, raytypes.RayJobStopResponse{Stopped: stopped})
}

func (h *Heads) listJobs(w http.ResponseWriter, _ *http.Request, head *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []raytypes.RayJobInfo{}
	for _, j := range h.jobs[head.UID] {
		list = append(list, j.info(j.status(h.complete(head), time.Now())))
	}
	h.answer(w, list)
}
