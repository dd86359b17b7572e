package azurenative

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ray-on-aks/rehearsal/layout"
)

// ClusterWaiter waits for the control plane of a cluster, by the cluster's
// name.
type ClusterWaiter interface {
	// Ready returns once the control plane serves.
	Ready(ctx context.Context, cluster string) error
	// Gone returns once the control plane has stopped.
	Gone(ctx context.Context, cluster string) error
}

const (
	readyLimit = 300 * time.Second
	goneLimit  = 120 * time.Second
	waitPoll   = 100 * time.Millisecond
)

// kubeconfigWaiter goes by the kubeconfig file, which the rehearsal's
// supervisor writes when the control plane serves and removes when it stopped.
type kubeconfigWaiter struct {
	dir         string
	ready, gone time.Duration
}

func kubeconfigPath(dir, cluster string) string {
	return layout.Dir(dir).ClusterKubeconfig(cluster)
}

// Ready waits for the kubeconfig to appear.
func (w kubeconfigWaiter) Ready(ctx context.Context, cluster string) error {
	return w.wait(ctx, cluster, true, w.ready)
}

// Gone waits for the kubeconfig to disappear.
func (w kubeconfigWaiter) Gone(ctx context.Context, cluster string) error {
	return w.wait(ctx, cluster, false, w.gone)
}

func (w kubeconfigWaiter) wait(ctx context.Context, cluster string, present bool, limit time.Duration) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	for {
		_, err := os.Stat(kubeconfigPath(w.dir, cluster))
		switch {
		case err == nil && present, errors.Is(err, fs.ErrNotExist) && !present:
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("waiting for the control plane of %s: %w", cluster, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the control plane of %s: %w", cluster, context.Cause(ctx))
		case <-timeout.C:
			doing := "come up"
			if !present {
				doing = "stop"
			}
			return fmt.Errorf("the control plane of cluster %s did not %s within %v: "+
				"the rehearsal's supervisor is not running (run `make rehearse`), or the machine is too busy", cluster, doing, limit)
		case <-poll.C:
		}
	}
}
