package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// report writes the pod's status if it changed.
func (r *running) report(ctx context.Context) error {
	if r.pod.Status.Phase == corev1.PodRunning && isReady(r.pod) == r.ready && r.pod.Status.PodIP == r.ip {
		return nil
	}
	pod := r.pod.DeepCopy()
	now := metav1.NewTime(time.Now())
	ready := corev1.ConditionFalse
	if r.ready {
		ready = corev1.ConditionTrue
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP, pod.Status.PodIPs = r.ip, []corev1.PodIP{{IP: r.ip}}
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = &now
	}
	setCondition(pod, corev1.PodInitialized, corev1.ConditionTrue)
	setCondition(pod, corev1.ContainersReady, ready)
	setCondition(pod, corev1.PodReady, ready)
	container := pod.Spec.Containers[0]
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: container.Name, Image: container.Image, ImageID: container.Image,
		Ready: r.ready, Started: &r.ready,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *pod.Status.StartTime}},
	}}
	_, err := r.kubelet.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the pod changed; the next step sees the new one
	}
	return err
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) {
	condition := corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()}
	for i, c := range pod.Status.Conditions {
		if c.Type == kind {
			if c.Status != status {
				pod.Status.Conditions[i] = condition
			}
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}

// forget deletes the pod for good, as a kubelet does once its containers ended.
func (k *Kubelet) forget(ctx context.Context, pod *corev1.Pod) error {
	now := int64(0)
	err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
