package queues

import (
	"ray-on-aks/internal/crd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// localQueue is the namespace's door to the ClusterQueue.
func localQueue(a Args) crd.Object {
	return crd.Object{
		GVK:  kind("LocalQueue"),
		Meta: metav1.ObjectMeta{Name: a.LocalQueue, Namespace: a.Namespace, Labels: labels()},
		Spec: &kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(a.ClusterQueue)},
	}
}
