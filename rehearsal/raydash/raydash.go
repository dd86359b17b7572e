// Package raydash stands in for the dashboard of Ray heads whose pods are
// simulated: KubeRay's calls get the answers that a Ray cluster of that shape
// would give, so that RayJobs run and end. Nothing of Ray itself runs here.
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
	// Outcomes is the file that says how jobs are to run; see Outcome.
	Outcomes string
	Log      *slog.Logger

	client kubernetes.Interface
	ray    rayversioned.Interface
	pods   *livecache.Cache[*corev1.Pod]
	conns  chan net.Conn

	mu sync.Mutex
	// jobs by head pod: a new head knows nothing of the old one's jobs.
	jobs map[types.UID]map[string]*job
}

// New answers heads that nothing has been asked of yet.
func New(outcomes string, log *slog.Logger) *Heads {
	return &Heads{
		Outcomes: outcomes, Log: log,
		conns: make(chan net.Conn), jobs: map[types.UID]map[string]*job{},
	}
}

// Owns says whether the pod is a Ray head.
func (h *Heads) Owns(pod *corev1.Pod) bool { return pod.Labels[rayutils.RayNodeTypeLabelKey] == "head" }

// Dial connects to the head's dashboard.
func (h *Heads) Dial(ctx context.Context, pod *corev1.Pod, port int32) (net.Conn, error) {
	if port != rayutils.DefaultDashboardPort {
		return nil, fmt.Errorf("head %s is simulated: only its dashboard's port %d answers", pod.Name, rayutils.DefaultDashboardPort)
	}
	here, there := net.Pipe()
	select {
	case h.conns <- headConn{there, pod}:
		return here, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), here.Close(), there.Close())
	}
}

// headConn remembers which head a connection is for.
type headConn struct {
	net.Conn
	pod *corev1.Pod
}

type headKey struct{}

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
			if head, ok := c.(headConn); ok {
				return context.WithValue(ctx, headKey{}, head.pod)
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
		h.playSubmitters(ctx)
		select {
		case <-ctx.Done():
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
	cluster, err := h.ray.RayV1().RayClusters(head.Namespace).Get(r.Context(), head.Labels[rayutils.RayClusterLabelKey], metav1.GetOptions{})
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
