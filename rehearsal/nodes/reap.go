package nodes

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// reapAfter is how long KWOK is given to end a pod that is being deleted, which
// takes it no time at all.
const reapAfter = 2 * time.Second

// reap ends simulated pods that KWOK has forgotten. It passes over the deletion
// of a pod that it is just making ready, and what owns the pod would wait for the
// whole time that the pod is given to end.
func (c *Controller) reap(ctx context.Context) error {
	for _, pod := range c.pods.List() {
		if pod.DeletionTimestamp == nil || len(pod.Finalizers) > 0 || c.Process != nil && c.Process(pod) {
			continue
		}
		asked := pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
		if time.Since(asked) < reapAfter {
			continue
		}
		err := c.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("ending pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}
