package raydash

import (
	"encoding/json"
	"net"
	"net/http"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
)

// podConn remembers which port of which pod a connection is for.
type podConn struct {
	net.Conn
	pod  *corev1.Pod
	port int32
}

// connKey holds a request's podConn in its context.
type connKey struct{}

// podHandler answers a request that came in at a pod.
type podHandler func(http.ResponseWriter, *http.Request, *corev1.Pod)

// routes leads requests by the port that they came in at.
func (h *Heads) routes() http.Handler {
	dashboard, proxy := http.NewServeMux(), http.NewServeMux()
	dashboard.HandleFunc("GET /api/jobs/{id}", h.withToken(h.ofJob(h.getJob)))
	dashboard.HandleFunc("GET /api/jobs/{$}", h.withToken(h.listJobs))
	dashboard.HandleFunc("POST /api/jobs/{id}/stop", h.withToken(h.ofJob(h.stopJob)))
	dashboard.HandleFunc("GET /api/serve/applications/{$}", h.withToken(h.getApplications))
	dashboard.HandleFunc("PUT /api/serve/applications/{$}", h.withToken(h.putApplications))
	proxy.HandleFunc("GET /-/healthz", atPod(h.getHealth))
	proxy.HandleFunc("GET /-/routes", atPod(h.getRoutes))
	for _, mux := range []*http.ServeMux{dashboard, proxy} {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "the head stand-in does not simulate "+r.Method+" "+r.URL.Path, http.StatusNotImplemented)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(podConn)
		switch {
		case ok && h.Real != nil:
			h.Real.Answer(w, r, c.pod, c.port)
		case ok && c.port == rayutils.DefaultDashboardPort:
			dashboard.ServeHTTP(w, r)
		default:
			proxy.ServeHTTP(w, r)
		}
	})
}

// atPod finds the pod that a request came in at.
func atPod(f podHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connKey{}).(podConn)
		if !ok {
			http.Error(w, "no pod", http.StatusInternalServerError)
			return
		}
		f(w, r, c.pod)
	}
}

// withToken checks the token of a request to a head's dashboard.
func (h *Heads) withToken(f podHandler) http.HandlerFunc {
	return atPod(func(w http.ResponseWriter, r *http.Request, head *corev1.Pod) {
		allowed, err := h.authorized(r, head)
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		case !allowed:
			http.Error(w, "missing or wrong token", http.StatusUnauthorized)
		default:
			f(w, r, head)
		}
	})
}

func (h *Heads) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		h.Log.Warn("answering", "error", err)
	}
}
