package queues

import (
	"fmt"

	"ray-on-aks/internal/crd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// priorityClass is the class of that name and value. Kueue orders by it only; pods have no priority, so the scheduler preempts nobody.
func priorityClass(name string, value int32) crd.Object {
	return crd.Object{
		GVK:  kind("WorkloadPriorityClass"),
		Meta: metav1.ObjectMeta{Name: name, Labels: labels()},
		Fields: map[string]any{
			"value":       int64(value),
			"description": fmt.Sprintf("What jobs with the label kueue.x-k8s.io/priority-class: %s have.", name),
		},
	}
}
