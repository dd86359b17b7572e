package raydash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	corev1 "k8s.io/api/core/v1"
)

// maxConfig bounds a Serve configuration, in bytes: it is a part of a
// Kubernetes object, which has no more.
const maxConfig = 1 << 20

// serving is what Serve runs on one Ray cluster: its applications by name.
type serving map[string]*application

// application is a Serve application as the head's Serve controller knows it.
type application struct {
	// written is its configuration as it came in, and config what is read of it.
	written json.RawMessage
	config  applicationConfig
	// began is when the whole cluster was first there; zero before.
	began time.Time
	// deployed says that it has come to an outcome.
	deployed bool
	status   string
}

// applicationConfig is the part of an application's configuration that the
// stand-in reads: https://docs.ray.io/en/latest/serve/api/index.html, ServeApplicationSchema.
type applicationConfig struct {
	Name        string  `json:"name"`
	RoutePrefix *string `json:"route_prefix"`
	ImportPath  string  `json:"import_path"`
	Deployments []struct {
		Name string `json:"name"`
	} `json:"deployments"`
}

// route is the application's; Serve's default is the root.
func (c applicationConfig) route() string {
	if c.RoutePrefix == nil {
		return "/"
	}
	return *c.RoutePrefix
}

// deployments are the names of the application's deployments. Without any in
// the configuration they are in the code, which is not run here: then there is
// one, by the name of what is imported.
func (c applicationConfig) deployments() []string {
	if len(c.Deployments) == 0 {
		return []string{c.ImportPath[strings.LastIndexAny(c.ImportPath, ".:")+1:]}
	}
	var names []string
	for _, d := range c.Deployments {
		names = append(names, d.Name)
	}
	return names
}

// step moves the application along: DEPLOYING until the cluster is complete
// and then for its time, after that what the outcome says.
func (a *application) step(complete bool, outcome Outcome, now time.Time) {
	if a.began.IsZero() && complete {
		a.began = now
	}
	if !a.deployed && (a.began.IsZero() || now.Sub(a.began).Seconds() < outcome.Seconds) {
		a.status = rayv1.ApplicationStatusEnum.DEPLOYING
		return
	}
	a.deployed, a.status = true, outcome.Status
}

func (a *application) details() raytypes.ServeApplicationDetails {
	status := rayv1.DeploymentStatusEnum.UNHEALTHY
	switch a.status {
	case rayv1.ApplicationStatusEnum.RUNNING:
		status = rayv1.DeploymentStatusEnum.HEALTHY
	case rayv1.ApplicationStatusEnum.DEPLOYING:
		status = rayv1.DeploymentStatusEnum.UPDATING
	}
	const message = "simulated by the rehearsal"
	deployments := map[string]raytypes.ServeDeploymentDetails{}
	for _, name := range a.config.deployments() {
		deployments[name] = raytypes.ServeDeploymentDetails{
			ServeDeploymentStatus: raytypes.ServeDeploymentStatus{Name: name, Status: status, Message: message},
		}
	}
	return raytypes.ServeApplicationDetails{
		Deployments: deployments, RoutePrefix: a.config.route(),
		ServeApplicationStatus: raytypes.ServeApplicationStatus{Name: a.config.Name, Status: a.status, Message: message},
	}
}

// readApplications reads a configuration for several applications and refuses
// what Serve refuses.
func readApplications(body io.Reader) (serving, error) {
	var config struct {
		Applications []json.RawMessage `json:"applications"`
	}
	if err := json.NewDecoder(body).Decode(&config); err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	if config.Applications == nil {
		return nil, errors.New("applications: is required")
	}
	apps, routes := serving{}, map[string]string{}
	for i, written := range config.Applications {
		a := &application{written: written, config: applicationConfig{Name: rayutils.DefaultServeAppName}}
		if err := json.Unmarshal(written, &a.config); err != nil {
			return nil, fmt.Errorf("applications[%d]: %w", i, err)
		}
		name, route := a.config.Name, a.config.route()
		other, taken := routes[route]
		switch {
		case name == "":
			return nil, fmt.Errorf("applications[%d].name: must not be empty", i)
		case apps[name] != nil:
			return nil, fmt.Errorf("applications[%d].name: %q names two applications", i, name)
		case !strings.ContainsAny(a.config.ImportPath, ".:"):
			return nil, fmt.Errorf("applications[%d].import_path: must be module:attribute, got %q", i, a.config.ImportPath)
		case !strings.HasPrefix(route, "/") || route != "/" && strings.HasSuffix(route, "/"):
			return nil, fmt.Errorf("applications[%d].route_prefix: must start with a slash and not end in one, got %q", i, route)
		case taken:
			return nil, fmt.Errorf("applications[%d].route_prefix: %q is also that of %q", i, route, other)
		}
		apps[name], routes[route] = a, name
	}
	return apps, nil
}

// putApplications makes Serve run what the configuration says: applications
// that it leaves out end, new and changed ones are deployed, as are failed
// ones once more; the others stay as they are.
func (h *Heads) putApplications(w http.ResponseWriter, r *http.Request, head *corev1.Pod) {
	apps, err := readApplications(http.MaxBytesReader(w, r.Body, maxConfig))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, old := range h.serve[head.UID] {
		if a := apps[name]; a != nil && bytes.Equal(a.written, old.written) && old.status != rayv1.ApplicationStatusEnum.DEPLOY_FAILED {
			apps[name] = old
		}
	}
	h.serve[head.UID] = apps
}

func (h *Heads) getApplications(w http.ResponseWriter, r *http.Request, head *corev1.Pod) {
	answer := raytypes.ServeDetails{Applications: map[string]raytypes.ServeApplicationDetails{}, DeployMode: "MULTI_APP"}
	err := h.applications(r.Context(), head, func(name string, a *application) {
		answer.Applications[name] = a.details()
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h.answer(w, answer)
}

// applications moves what Serve runs on the head's cluster along, and shows
// each application to f.
func (h *Heads) applications(ctx context.Context, head *corev1.Pod, f func(name string, a *application)) error {
	cluster, err := h.cluster(ctx, head)
	if err != nil {
		return err
	}
	// A cluster that no RayService made has no name to look up.
	outcome, err := h.outcome(serviceKind, cluster.Labels[rayutils.RayOriginatedFromCRNameLabelKey])
	if err != nil {
		return err
	}
	complete := h.complete(head) && h.workers(head) >= int(rayutils.CalculateDesiredReplicas(cluster))
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, a := range h.serve[head.UID] {
		a.step(complete, outcome, time.Now())
		f(name, a)
	}
	return nil
}

// getHealth answers as a pod's Serve proxy does: a head's is healthy once
// there is an application, a worker's once one has replicas.
func (h *Heads) getHealth(w http.ResponseWriter, r *http.Request, pod *corev1.Pod) {
	routed, replicas := false, false
	err := h.ofPod(r.Context(), pod, func(_ string, a *application) {
		routed = true
		replicas = replicas || a.status == rayv1.ApplicationStatusEnum.RUNNING
	})
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !routed:
		http.Error(w, "Route table is not populated yet.", http.StatusServiceUnavailable)
	case !replicas && !isHead(pod):
		http.Error(w, "No replicas are available yet.", http.StatusServiceUnavailable)
	default:
		_, _ = io.WriteString(w, "success") // a lost answer is a failed probe
	}
}

// getRoutes answers which application is at which route.
func (h *Heads) getRoutes(w http.ResponseWriter, r *http.Request, pod *corev1.Pod) {
	routes := map[string]string{}
	err := h.ofPod(r.Context(), pod, func(name string, a *application) { routes[a.config.route()] = name })
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	h.answer(w, routes)
}

// ofPod shows what Serve runs on the cluster of a head or a worker.
func (h *Heads) ofPod(ctx context.Context, pod *corev1.Pod, f func(name string, a *application)) error {
	head := pod
	if !isHead(pod) {
		cluster := pod.Labels[rayutils.RayClusterLabelKey]
		if head = h.head(pod.Namespace, cluster); head == nil {
			return fmt.Errorf("the Ray cluster %s has no head", cluster)
		}
	}
	return h.applications(ctx, head, f)
}
