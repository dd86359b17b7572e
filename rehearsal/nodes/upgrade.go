package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/internal/aks"
)

// kubelet answers the version of a pool's kubelets. A pool that is of a minor
// alone has the API server's patch of it, or the first.
func kubelet(pool, api string) string {
	switch {
	case pool == "" || strings.HasPrefix(api, "v"+pool+"."):
		return api
	case strings.Count(pool, ".") == 1:
		return "v" + pool + ".0"
	}
	return "v" + pool
}

// upgrade takes away the nodes that run an older kubelet than their pool's, one of a
// pool at a time, and not before its pods have been asked to leave and have left.
// The node comes again under its name, with the new one. AKS adds another node
// first; here the autoscaler does where a pod has no other to go to.
func (c *Controller) upgrade(ctx context.Context, wanted map[string]*corev1.Node) error {
	begun := map[string]bool{}
	present := map[string]*corev1.Node{}
	for _, node := range c.nodes.List() {
		present[node.Name] = node
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		node, pool := present[name], wanted[name].Labels[aks.LabelPool]
		if node == nil || node.Status.NodeInfo.KubeletVersion == "" {
			begun[pool] = true // it is just coming again
			continue
		}
		if begun[pool] || node.Status.NodeInfo.KubeletVersion == wanted[name].Status.NodeInfo.KubeletVersion {
			continue
		}
		begun[pool] = true
		if err := c.drain(ctx, node); err != nil {
			errs = append(errs, fmt.Errorf("draining node %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// drain takes a step: no more pods come, those that are there are evicted, and a
// node without any goes.
func (c *Controller) drain(ctx context.Context, node *corev1.Node) error {
	if !node.Spec.Unschedulable {
		c.Log.Info("upgrading node", "node", node.Name, "from", node.Status.NodeInfo.KubeletVersion)
		cordoned := node.DeepCopy()
		cordoned.Spec.Unschedulable = true
		_, err := c.Client.CoreV1().Nodes().Update(ctx, cordoned, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			return nil // the next tick sees the newer one
		}
		return err
	}
	left := 0
	for _, pod := range c.pods.List() {
		if pod.Spec.NodeName != node.Name || ended(pod) {
			continue
		}
		left++
		if pod.DeletionTimestamp != nil {
			continue
		}
		err := c.Client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		})
		// A disruption budget may say: not yet.
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if left > 0 {
		return nil
	}
	err := c.Client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
