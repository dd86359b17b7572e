// Package realray runs a real Ray in place of the simulated pods of a Ray
// cluster: for the head and for each worker a node of Ray, as processes of this
// machine with the pods' variables, scripts and storage. KubeRay talks to the
// head's own dashboard, and jobs are the programs themselves.
//
// An environment of Python plays every image. So what a run would install is
// not installed, and nothing has a GPU but in name.
package realray

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ray-on-aks/rehearsal/pods"
	"ray-on-aks/rehearsal/process"
)

// startPatience is how long others wait for a node that does not come up.
const startPatience = 3 * time.Minute

// Runtime keeps a node of Ray for each pod that runs.
type Runtime struct {
	// Python is the folder of an environment with Ray and all that the programs
	// import.
	Python string
	// Dir takes what pods have mounted and the logs of jobs.
	Dir string
	// Sockets is a folder with a short path.
	Sockets string
	// Storage has a folder for each storage container. It stays when clusters go.
	Storage string
	// Mark is a setting in the environment of all processes, by which they are
	// found when the rehearsal is taken down.
	Mark string
	// Group starts the processes.
	Group *process.Group
	Log   *slog.Logger

	client kubernetes.Interface
	mu     sync.Mutex
	nodes  map[types.UID]*node
	// problems are the last ones that were logged, by pod or job.
	problems map[string]string
	stopping sync.WaitGroup
}

// Follow starts and stops nodes to match the pods. It does not wait for either.
func (r *Runtime) Follow(ctx context.Context, client kubernetes.Interface, pods []*corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client = client
	if r.nodes == nil {
		r.nodes, r.problems = map[types.UID]*node{}, map[string]string{}
	}
	r.restart()
	running := map[types.UID]bool{}
	for _, pod := range pods {
		if pod.Labels[rayutils.RayNodeTypeLabelKey] == "" || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		running[pod.UID] = true
		if r.nodes[pod.UID] == nil {
			r.note(pod.Name, r.start(ctx, pod))
		}
	}
	for uid, n := range r.nodes {
		if !running[uid] {
			delete(r.nodes, uid)
			r.stopping.Go(func() { r.stop(n) })
		}
	}
}

// restart takes out the nodes that have died, so that they are started again as
// a kubelet does, with ports that are free now.
func (r *Runtime) restart() {
	for uid, n := range r.nodes {
		select {
		case <-n.process.Ended():
			r.Log.Warn("a node of Ray has died", "pod", n.pod.Name, "error", n.process.Err(), "log", n.process.LogPath())
			delete(r.nodes, uid)
			r.clear(n)
		default:
		}
	}
}

// Stop ends all nodes and waits for those that are ending.
func (r *Runtime) Stop() {
	r.mu.Lock()
	for uid, n := range r.nodes {
		delete(r.nodes, uid)
		r.stopping.Go(func() { r.stop(n) })
	}
	r.mu.Unlock()
	r.stopping.Wait()
}

// start runs the pod's node; a worker's only once its head's is up, as KubeRay's
// init container sees to it. It is tried again for as long as it fails.
func (r *Runtime) start(ctx context.Context, pod *corev1.Pod) error {
	if r.starting() {
		return nil
	}
	var head *node
	if !isHead(pod) {
		if head = r.headOf(pod); head == nil || !head.up() {
			return nil
		}
	}
	container := pod.Spec.Containers[rayutils.RayContainerIndex]
	paths, err := r.mounts(ctx, pod, container)
	if err != nil {
		return err
	}
	env, err := pods.Environment(ctx, r.client, pod, container)
	if err != nil {
		return err
	}
	n, err := newNode(pod, head, paths, env)
	if err != nil {
		return err
	}
	n.temp, n.scratch = filepath.Join(r.Sockets, string(pod.UID)[:6]), filepath.Join(r.Dir, "pods", string(pod.UID))
	n.process, err = r.Group.Start(process.Spec{
		Name: "ray-" + pod.Name, Path: filepath.Join(r.Python, "bin", "ray"), Args: n.args(), Env: n.environ(r.Python, r.Mark), Once: true,
	})
	if err != nil {
		return err
	}
	n.began = time.Now()
	r.nodes[pod.UID] = n
	r.Log.Info("ray node", "pod", pod.Name, "dashboard", n.dashboard)
	return nil
}

// starting says whether a node is on its way. Each takes many seconds of
// processor time and gives up after 30 s, so they come up one after the other.
func (r *Runtime) starting() bool {
	for _, n := range r.nodes {
		if !n.up() && time.Since(n.began) < startPatience {
			return true
		}
	}
	return false
}

// note logs a problem when it is new.
func (r *Runtime) note(what string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && r.problems[what] != text {
		r.Log.Warn("real Ray waits", "for", what, "reason", err)
	}
	r.problems[what] = text
}

// headOf finds the head's node of the pod's cluster.
func (r *Runtime) headOf(pod *corev1.Pod) *node {
	for _, n := range r.nodes {
		if isHead(n.pod) && sameCluster(n.pod, pod) {
			return n
		}
	}
	return nil
}

func isHead(pod *corev1.Pod) bool { return pod.Labels[rayutils.RayNodeTypeLabelKey] == "head" }

func sameCluster(a, b *corev1.Pod) bool {
	return a.Namespace == b.Namespace && a.Labels[rayutils.RayClusterLabelKey] == b.Labels[rayutils.RayClusterLabelKey]
}
