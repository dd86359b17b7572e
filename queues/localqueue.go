package queues

import (
	"ray-on-aks/internal/crd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// localQueue is the door from a tenant's namespace to its ClusterQueue.
func localQueue(t Tenant) crd.Object {
	return crd.Object{
		GVK:  kind("LocalQueue"),
		Meta: metav1.ObjectMeta{Name: t.LocalQueue, Namespace: t.Namespace, Labels: labels()},
		Spec: &kueue.LocalQueueSpec{ClusterQueue: kueue.ClusterQueueReference(t.ClusterQueue)},
	}
}
