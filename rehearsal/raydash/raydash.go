// Package raydash stands in for the dashboard of Ray heads, and for the Serve
// proxies of Ray's pods, whose pods are simulated: KubeRay's calls get the
// answers that a Ray cluster of that shape would give, so that RayJobs run and
// end and RayServices become ready. Nothing of Ray itself runs here.
package raydash

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	rayversioned "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ray-on-aks/rehearsal/livecache"
)

const (
	// tokenHeader carries the cluster's token; KubeRay sends it when the
	// cluster's authOptions ask for tokens.
	tokenHeader = "X-Ray-Authorization"
)

// Heads answers for every simulated Ray head of a cluster.
type Heads struct {
	// Outcomes is the file that says how jobs and services do; see Outcome.
	Outcomes string
	// Real runs Ray itself; without it the stand-in answers alone.
	Real Runtime
	Log  *slog.Logger

	client kubernetes.Interface
	ray    rayversioned.Interface
	pods   *livecache.Cache[*corev1.Pod]
	conns  chan net.Conn

	mu sync.Mutex
	// jobs by head pod: a new head knows nothing of the old one's jobs.
	jobs map[types.UID]map[string]*job
	// serve is what Serve runs, by head pod too. A head that was told nothing
	// has none.
	serve map[types.UID]serving
}

// Runtime runs a real Ray for the simulated pods.
type Runtime interface {
	// Follow makes what runs match the pods; it does not wait for it.
	Follow(ctx context.Context, client kubernetes.Interface, pods []*corev1.Pod)
	// Answer answers a request that came in at a port of a pod.
	Answer(w http.ResponseWriter, r *http.Request, pod *corev1.Pod, port int32)
	// Submit hands a job to its head, once, and answers its status; "" while the
	// head is not ready.
	Submit(ctx context.Context, head *corev1.Pod, job *rayv1.RayJob) (rayv1.JobStatus, error)
	// Stop ends all that runs.
	Stop()
}

// New answers heads that nothing has been asked of yet.
func New(outcomes string, log *slog.Logger) *Heads {
	return &Heads{
		Outcomes: outcomes, Log: log,
		conns: make(chan net.Conn), jobs: map[types.UID]map[string]*job{}, serve: map[types.UID]serving{},
	}
}

// Owns says whether the pod is a Ray head, or a worker that Serve may have a
// proxy on.
func (h *Heads) Owns(pod *corev1.Pod) bool {
	_, serves := pod.Labels[rayutils.RayClusterServingServiceLabelKey]
	return isHead(pod) || serves
}

func isHead(pod *corev1.Pod) bool { return pod.Labels[rayutils.RayNodeTypeLabelKey] == "head" }

// Dial connects to a head's dashboard, or to the Serve proxy of a pod.
func (h *Heads) Dial(ctx context.Context, pod *corev1.Pod, port int32) (net.Conn, error) {
	proxy := rayutils.FindContainerPort(&pod.Spec.Containers[rayutils.RayContainerIndex], rayutils.ServingPortName, rayutils.DefaultServingPort)
	if port != proxy && !(isHead(pod) && port == rayutils.DefaultDashboardPort) {
		return nil, fmt.Errorf("pod %s is simulated: only a head's dashboard at port %d and Serve's proxy at port %d answer",
			pod.Name, rayutils.DefaultDashboardPort, proxy)
	}
	here, there := net.Pipe()
	select {
	case h.conns <- podConn{there, pod, port}:
		return here, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), here.Close(), there.Close())
	}
}

// Run answers requests and plays the submitters' part until ctx ends.
func (h *Heads) Run(ctx context.Context, client kubernetes.Interface, ray rayversioned.Interface) error {
	h.client, h.ray = client, ray
	var err error
	if h.pods, err = livecache.Watch(ctx, client, client.CoreV1().Pods(""), &corev1.Pod{}); err != nil {
		return err
	}
	server := &http.Server{
		Handler:           h.routes(),
		ReadHeaderTimeout: 5 * time.Second,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if at, ok := c.(podConn); ok {
				return context.WithValue(ctx, connKey{}, at)
			}
			return ctx
		},
	}
	go func() {
		if err := server.Serve(listener{ctx, h.conns}); ctx.Err() == nil {
			h.Log.Error("head stand-in ended", "error", err)
		}
	}()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		if h.Real != nil {
			h.Real.Follow(ctx, client, h.pods.List())
		}
		h.playSubmitters(ctx)
		select {
		case <-ctx.Done():
			if h.Real != nil {
				h.Real.Stop()
			}
			return server.Close()
		case <-h.pods.Changed():
		case <-tick.C:
		}
	}
}

// listener accepts the connections that Dial makes.
type listener struct {
	ctx   context.Context
	conns chan net.Conn
}

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close has nothing to close: the context ends the listener.
func (l listener) Close() error { return nil }

// Addr names the listener in logs.
func (l listener) Addr() net.Addr { return &net.UnixAddr{Name: "head stand-in", Net: "pipe"} }

// authorized checks the token if the cluster's pods were given one.
func (h *Heads) authorized(r *http.Request, head *corev1.Pod) (bool, error) {
	cluster, err := h.cluster(r.Context(), head)
	if err != nil {
		return false, err
	}
	if cluster.Spec.AuthOptions == nil || cluster.Spec.AuthOptions.Mode != "token" {
		return true, nil
	}
	name := cluster.Name
	if own := cluster.Spec.AuthOptions.SecretName; own != nil && *own != "" {
		name = *own
	}
	secret, err := h.client.CoreV1().Secrets(head.Namespace).Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	want := "Bearer " + string(secret.Data[rayutils.RAY_AUTH_TOKEN_SECRET_KEY])
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(want)) == 1, nil
}

// cluster is the Ray cluster that the head is of.
func (h *Heads) cluster(ctx context.Context, head *corev1.Pod) (*rayv1.RayCluster, error) {
	return h.ray.RayV1().RayClusters(head.Namespace).Get(ctx, head.Labels[rayutils.RayClusterLabelKey], metav1.GetOptions{})
}
