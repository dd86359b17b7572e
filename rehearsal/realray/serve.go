package realray

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
)

// Answer passes a request that came in at a port of a pod on to the head's
// dashboard, or to the proxy of the cluster's Serve. Tokens are Ray's to check.
func (r *Runtime) Answer(w http.ResponseWriter, request *http.Request, pod *corev1.Pod, port int32) {
	r.mu.Lock()
	n := r.nodes[pod.UID]
	r.mu.Unlock()
	if n == nil {
		http.Error(w, "pod "+pod.Name+" has no node of Ray yet", http.StatusServiceUnavailable)
		return
	}
	target := "127.0.0.1:" + n.serve
	if isHead(pod) && port == rayutils.DefaultDashboardPort {
		target = n.dashboard
		if request.Method == http.MethodPut {
			if err := n.adapt(request); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target})
	// Proxies of the user's have no part in it.
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	proxy.ServeHTTP(w, request)
}

// adapt changes the configuration that Serve is given where it speaks of a
// machine of the pod's own: one proxy, at a port that is free here, for all
// pods; this machine's paths; and nothing that would be installed.
func (n *node) adapt(request *http.Request) error {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return err
	}
	var config map[string]any
	if err := json.Unmarshal(body, &config); err != nil {
		return fmt.Errorf("reading the configuration of Serve: %w", err)
	}
	port, err := strconv.Atoi(n.serve)
	if err != nil {
		return err
	}
	config["proxy_location"] = "HeadOnly"
	config["http_options"] = map[string]any{"host": "127.0.0.1", "port": port}
	applications, _ := config["applications"].([]any)
	for _, a := range applications {
		application, _ := a.(map[string]any)
		if env, ok := application["runtime_env"].(map[string]any); ok {
			delete(env, "pip")
		}
	}
	if body, err = json.Marshal(config); err != nil {
		return err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}
