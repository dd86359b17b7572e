package report

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayfake "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned/fake"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
)

// service is a RayService with one worker of two, whose condition Ready is this.
func service(status metav1.ConditionStatus, reason rayv1.RayServiceConditionReason) *rayv1.RayService {
	s := &rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Name: "serving", Namespace: "team", Generation: 2}}
	s.Spec.RayClusterSpec.WorkerGroupSpecs = []rayv1.WorkerGroupSpec{{Replicas: ptr.To[int32](2)}}
	s.Status.ObservedGeneration, s.Status.NumServeEndpoints = 2, 3
	s.Status.Conditions = []metav1.Condition{{Type: string(rayv1.RayServiceReady), Status: status, Reason: string(reason), Message: "words"}}
	s.Status.ActiveServiceStatus.RayClusterName = "cluster"
	s.Status.ActiveServiceStatus.Applications = map[string]rayv1.AppStatus{"app": {Status: "DEPLOY_FAILED", Message: "no module"}}
	return s
}

func waitForService(ctx context.Context, s *rayv1.RayService) (string, error) {
	ready := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "head", Namespace: "team", Labels: map[string]string{"ray.io/cluster": "cluster"}}}
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	other := ready
	other.Name, other.Labels = "other", nil
	var told strings.Builder
	waiter := Waiter{
		Reader:   &Reader{Kubernetes: fake.NewSimpleClientset(&ready, &other), Ray: rayfake.NewSimpleClientset(s)},
		Workload: "online", Interval: time.Second, Progress: &told,
		Run: Run{Name: "serving", Namespace: "team", Kind: "RayService"},
	}
	err := waiter.Wait(ctx)
	return told.String(), err
}

func TestAServiceIsWaitedForUntilItIsReady(t *testing.T) {
	told, err := waitForService(t.Context(), service(metav1.ConditionTrue, rayv1.NonZeroServeEndpoints))
	if err != nil || !strings.HasSuffix(told, " online: ready, with 3 endpoints\n") || !strings.Contains(told, "pods ready 1 of 3\n") {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestAServiceThatNeverBecomesReadyIsNotWaitedFor(t *testing.T) {
	for reason, words := range map[rayv1.RayServiceConditionReason]string{
		rayv1.RayServiceValidationFailed: "KubeRay refuses RayService team/serving (ValidationFailed: words); change workloads.online",
		rayv1.RayServiceInitializingTimeout: "KubeRay has given up on RayService team/serving (InitializingTimeout: words); see " +
			"kubectl -n team describe rayservice serving; to begin anew, delete it and run pulumi up --refresh",
	} {
		if _, err := waitForService(t.Context(), service(metav1.ConditionFalse, reason)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func TestAServiceIsWaitedForWhileItIsNotReady(t *testing.T) {
	stale := service(metav1.ConditionTrue, rayv1.NonZeroServeEndpoints)
	stale.Status.ObservedGeneration = 1
	unseen := service(metav1.ConditionTrue, rayv1.NonZeroServeEndpoints)
	unseen.Status = rayv1.RayServiceStatuses{}
	for words, s := range map[string]*rayv1.RayService{
		"not ready (ZeroServeEndpoints: words)":    service(metav1.ConditionFalse, rayv1.ZeroServeEndpoints),
		"application app DEPLOY_FAILED: no module": service(metav1.ConditionFalse, rayv1.ZeroServeEndpoints),
		"ready as it was before the last change":   stale,
		"KubeRay has not looked at it so far":      unseen,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			told, err := waitForService(ctx, s)
			if err == nil || !strings.Contains(err.Error(), "the deadline has passed") || strings.Count(told, words) != 1 {
				t.Errorf("%s: told %q, %v", words, told, err)
			}
		})
	}
}
