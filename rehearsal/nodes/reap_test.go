package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// A pod that has been on its way out for longer than KWOK takes is ended, and no
// other is: not one that keeps a finalizer, and not a live one.
func TestForgottenPodsEnd(t *testing.T) {
	deleted := func(name string, finalizers ...string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ray", UID: "1", Finalizers: finalizers,
			// In a test's own time, which begins in the year 2000.
			DeletionTimestamp:          &metav1.Time{Time: time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)},
			DeletionGracePeriodSeconds: ptr.To[int64](60),
		}}
	}
	live := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "live", Namespace: "ray"}}
	objects := []runtime.Object{deleted("forgotten"), deleted("kept", "a.b/c"), live}
	inWorld(t, nil, objects, func(w world) {
		names := func() (names []string) {
			list, err := w.client.CoreV1().Pods("ray").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range list.Items {
				names = append(names, p.Name)
			}
			return names
		}
		time.Sleep(time.Second)
		if got := names(); len(got) != 3 {
			t.Errorf("after a second there are %v", got)
		}
		time.Sleep(reapAfter)
		if got := names(); len(got) != 2 || got[0] == "forgotten" || got[1] == "forgotten" {
			t.Errorf("after %s there are %v", reapAfter, got)
		}
	})
}
