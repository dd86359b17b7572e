package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

func TestLineIsInKueuesOrder(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*minute), 0)) }
	workload := func(name string, minute int, priority int32, conditions ...metav1.Condition) kueue.Workload {
		w := kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID(name), CreationTimestamp: at(minute)}}
		w.Spec.QueueName, w.Spec.Priority, w.Status.Conditions = "queue", &priority, conditions
		return w
	}
	is := func(kind, reason string, minute int) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: at(minute)}
	}
	elsewhere, inactive := workload("elsewhere", 0, 9), workload("inactive", 0, 9)
	elsewhere.Spec.QueueName, inactive.Spec.Active = "other", ptr.To(false)
	all := []kueue.Workload{
		workload("late", 5, 1), workload("early", 1, 1), workload("high", 9, 2),
		workload("preempted", 2, 1, is(kueue.WorkloadEvicted, kueue.WorkloadEvictedByPreemption, 8)),
		workload("not-ready", 0, 1, is(kueue.WorkloadEvicted, kueue.WorkloadEvictedByPodsReadyTimeout, 7)),
		workload("admitted", 0, 9, is(kueue.WorkloadQuotaReserved, "", 0)), workload("finished", 0, 9, is(kueue.WorkloadFinished, "", 0)),
		elsewhere, inactive,
	}
	queues := []kueue.LocalQueue{
		{ObjectMeta: metav1.ObjectMeta{Name: "queue", Namespace: "team"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "a"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "team"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "b"}},
	}
	positions := map[string]int{"high": 1, "early": 2, "preempted": 3, "late": 4, "not-ready": 5, "admitted": 0, "finished": 0, "inactive": 0}
	for _, w := range all {
		want := Line{ClusterQueue: "a", Position: positions[w.Name], Length: 5}
		if w.Name == "elsewhere" {
			want = Line{ClusterQueue: "b", Position: 1, Length: 1}
		}
		if got := lineOf(w, all, queues); got != want {
			t.Errorf("%s: %+v, want %+v", w.Name, got, want)
		}
	}
	if got := lineOf(all[0], all, nil); got != (Line{}) {
		t.Errorf("without a LocalQueue: %+v", got)
	}
}
