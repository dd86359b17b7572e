package raydash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	corev1 "k8s.io/api/core/v1"
)

// Outcome says how a simulated job runs.
type Outcome struct {
	// Seconds that the job runs once all pods of its cluster are ready.
	Seconds float64 `json:"seconds"`
	// Status that it ends with: SUCCEEDED (default) or FAILED.
	Status rayv1.JobStatus `json:"status,omitempty"`
}

// defaultOutcome is long enough that a user sees the job run.
var defaultOutcome = Outcome{Seconds: 5, Status: rayv1.JobStatusSucceeded}

// outcome looks the RayJob's name up in the outcomes file, which maps the
// beginnings of names; the longest one that fits counts.
func (h *Heads) outcome(rayJob string) (Outcome, error) {
	data, err := os.ReadFile(h.Outcomes)
	if errors.Is(err, fs.ErrNotExist) {
		return defaultOutcome, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	outcomes := map[string]Outcome{}
	if err := json.Unmarshal(data, &outcomes); err != nil {
		return Outcome{}, fmt.Errorf("reading %s: %w", h.Outcomes, err)
	}
	best, longest := defaultOutcome, -1
	for prefix, o := range outcomes {
		if strings.HasPrefix(rayJob, prefix) && len(prefix) > longest {
			if o.Status == "" {
				o.Status = rayv1.JobStatusSucceeded
			}
			best, longest = o, len(prefix)
		}
	}
	return best, nil
}

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
		return j.outcome.Status
	case j.began.IsZero() && !complete:
		return rayv1.JobStatusPending
	case j.began.IsZero():
		j.began = now
		return rayv1.JobStatusRunning
	case now.Sub(j.began).Seconds() >= j.outcome.Seconds:
		j.ended = now
		return j.outcome.Status
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

func (h *Heads) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/jobs/{id}", h.withHead(func(w http.ResponseWriter, r *http.Request, head *corev1.Pod) {
		h.mu.Lock()
		defer h.mu.Unlock()
		j := h.jobs[head.UID][r.PathValue("id")]
		if j == nil {
			http.Error(w, "job "+r.PathValue("id")+" does not exist", http.StatusNotFound)
			return
		}
		h.answer(w, j.info(j.status(h.complete(head), time.Now())))
	}))
	mux.HandleFunc("GET /api/jobs/{$}", h.withHead(func(w http.ResponseWriter, _ *http.Request, head *corev1.Pod) {
		h.mu.Lock()
		defer h.mu.Unlock()
		list := []raytypes.RayJobInfo{}
		for _, j := range h.jobs[head.UID] {
			list = append(list, j.info(j.status(h.complete(head), time.Now())))
		}
		h.answer(w, list)
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "the head stand-in does not simulate "+r.Method+" "+r.URL.Path, http.StatusNotImplemented)
	})
	return mux
}

// withHead finds the head that a request came in at and checks its token.
func (h *Heads) withHead(f func(http.ResponseWriter, *http.Request, *corev1.Pod)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		head, ok := r.Context().Value(headKey{}).(*corev1.Pod)
		if !ok {
			http.Error(w, "no head", http.StatusInternalServerError)
			return
		}
		allowed, err := h.authorized(r, head)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case !allowed:
			http.Error(w, "missing or wrong token", http.StatusUnauthorized)
		default:
			f(w, r, head)
		}
	}
}

func (h *Heads) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		h.Log.Warn("answering KubeRay", "error", err)
	}
}
