package queues

import (
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// resourceFlavor derives a flavor from its pool. The label pins admitted pods to the pool, the taints keep it from pods that do not
// tolerate them. Tolerations are never put here, since Kueue would give them to every pod of the flavor, heads and submitters too.
func resourceFlavor(p Pool) crd.Object {
	return crd.Object{
		GVK:  kind("ResourceFlavor"),
		Meta: metav1.ObjectMeta{Name: p.Name, Labels: labels()},
		Spec: &kueue.ResourceFlavorSpec{NodeLabels: map[string]string{aks.LabelPool: p.Name}, NodeTaints: p.Taints},
	}
}

func labels() map[string]string { return map[string]string{aks.LabelManagedBy: aks.ManagedBy} }
