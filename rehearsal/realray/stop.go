package realray

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"

	"ray-on-aks/rehearsal/process"
)

// stopGrace is what Kubernetes gives a pod to end, its hook included.
const stopGrace = 30 * time.Second

// stop ends the node as a kubelet ends a pod: its hook, then its main process,
// and with that all that it has started.
func (r *Runtime) stop(n *node) {
	start := time.Now()
	if err := r.leave(n); err != nil {
		r.Log.Warn("what a pod does before it ends", "pod", n.pod.Name, "error", err)
	}
	n.process.Stop(max(time.Second, stopGrace-time.Since(start)))
	r.clear(n)
	r.Log.Info("ray node ended", "pod", n.pod.Name, "seconds", time.Since(start).Seconds())
}

// clear ends what a node has started and removes its files, when it has ended.
func (r *Runtime) clear(n *node) {
	if _, err := process.SweepEnv(n.mark(), 0); err != nil {
		r.Log.Warn("ending what a node of Ray has started", "pod", n.pod.Name, "error", err)
	}
	if err := errors.Join(os.RemoveAll(n.temp), os.RemoveAll(n.scratch)); err != nil {
		r.Log.Warn("removing the files of a node of Ray", "pod", n.pod.Name, "error", err)
	}
}

// leave runs the hook that the pod's container has for its end.
func (r *Runtime) leave(n *node) error {
	lifecycle := n.pod.Spec.Containers[rayutils.RayContainerIndex].Lifecycle
	if lifecycle == nil || lifecycle.PreStop == nil || lifecycle.PreStop.Exec == nil {
		return nil
	}
	// The pod may be gone from the API, and the rehearsal itself may be ending.
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	command := lifecycle.PreStop.Exec.Command
	path := command[0]
	if found := filepath.Join(r.Python, "bin", path); filepath.Base(path) == path {
		path = found
	}
	cmd := exec.CommandContext(ctx, path, command[1:]...)
	cmd.Env = n.environ(r.Python, r.Mark)
	cmd.WaitDelay = time.Second // what it leaves behind may hold its output
	out, err := cmd.CombinedOutput()
	r.Log.Info("before the pod ends", "pod", n.pod.Name, "said", string(out))
	return err
}
