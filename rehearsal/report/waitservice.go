package report

import (
	"context"
	"fmt"
	"maps"
	"slices"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func (w *Waiter) lookAtService(ctx context.Context) (view, error) {
	service, err := w.Reader.Ray.RayV1().RayServices(w.Run.Namespace).Get(ctx, w.Run.Name, metav1.GetOptions{})
	if err != nil {
		return view{}, err
	}
	var s view
	// While one cluster takes over from another, the new one is what is waited for.
	status := service.Status.PendingServiceStatus
	if status.RayClusterName == "" {
		status = service.Status.ActiveServiceStatus
	}
	if status.RayClusterName != "" {
		pods, err := w.Reader.Kubernetes.CoreV1().Pods(w.Run.Namespace).List(ctx,
			metav1.ListOptions{LabelSelector: rayutils.RayClusterLabelKey + "=" + status.RayClusterName})
		if err != nil {
			return view{}, fmt.Errorf("listing pods: %w", err)
		}
		s.say("pods", "%s", podsReady(pods.Items, servicePods(service)))
	}
	for _, name := range slices.Sorted(maps.Keys(status.Applications)) {
		app := status.Applications[name]
		text := "application " + name + " " + app.Status
		if app.Message != "" {
			text += ": " + app.Message
		}
		s.say("application "+name, "%s", text)
	}
	w.judge(&s, service)
	return s, nil
}

// judge says whether the service is ready, or never will be.
func (w *Waiter) judge(s *view, service *rayv1.RayService) {
	ready := apimeta.FindStatusCondition(service.Status.Conditions, string(rayv1.RayServiceReady))
	if ready == nil {
		s.say("service", "KubeRay has not looked at it so far")
		return
	}
	why := fmt.Sprintf("%s: %s", ready.Reason, ready.Message)
	switch {
	case ready.Reason == string(rayv1.RayServiceValidationFailed):
		s.ended = true
		s.failure = fmt.Errorf("%s: KubeRay refuses %s (%s); change workloads.%s and run pulumi up", w.Workload, w.object(), why, w.Workload)
	case ready.Reason == string(rayv1.RayServiceInitializingTimeout):
		s.ended = true
		s.failure = fmt.Errorf("%s: KubeRay has given up on %s (%s); see kubectl -n %s describe rayservice %s; "+
			"to begin anew, delete it and run pulumi up --refresh", w.Workload, w.object(), why, w.Run.Namespace, w.Run.Name)
	case ready.Status == metav1.ConditionTrue && service.Status.ObservedGeneration >= service.Generation:
		s.ended = true
		s.say("service", "ready, with %d endpoints", service.Status.NumServeEndpoints)
	case ready.Status == metav1.ConditionTrue:
		s.say("service", "ready as it was before the last change")
	default:
		s.say("service", "not ready (%s)", why)
	}
}

// servicePods is the number of pods that the service is to have.
func servicePods(service *rayv1.RayService) int {
	n := 1
	for _, group := range service.Spec.RayClusterSpec.WorkerGroupSpecs {
		n += int(ptr.Deref(group.Replicas, 0) * max(1, group.NumOfHosts))
	}
	return n
}
