package queues

import (
	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// clusterQueue has one resource group for all resources. With two, Kueue could take a pod's GPU from one pool and its CPU from another,
// and pin it to both.
func clusterQueue(a Args) crd.Object {
	covered := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	if a.hasGPUs() {
		covered = append(covered, aks.ResourceGPU)
	}
	var flavors []kueue.FlavorQuotas
	for _, p := range a.Ordered() {
		flavors = append(flavors, flavorQuotas(p.Name, covered, a.QuotaOf(p)))
	}
	return crd.Object{
		GVK:  kind("ClusterQueue"),
		Meta: metav1.ObjectMeta{Name: a.ClusterQueue, Labels: labels()},
		Spec: &kueue.ClusterQueueSpec{
			QueueingStrategy: kueue.BestEffortFIFO,
			// Without a selector no namespace is admitted at all.
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{aks.LabelNamespace: a.Namespace}},
			ResourceGroups:    []kueue.ResourceGroup{{CoveredResources: covered, Flavors: flavors}},
		},
	}
}

// flavorQuotas lists the covered resources in their order, as Kueue insists on.
func flavorQuotas(name string, covered []corev1.ResourceName, q sku.Resources) kueue.FlavorQuotas {
	amounts := map[corev1.ResourceName]resource.Quantity{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(q.MilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(q.MemoryMiB<<20, resource.BinarySI),
		aks.ResourceGPU:       *resource.NewQuantity(q.GPUs, resource.DecimalSI),
	}
	f := kueue.FlavorQuotas{Name: kueue.ResourceFlavorReference(name)}
	for _, r := range covered {
		f.Resources = append(f.Resources, kueue.ResourceQuota{Name: r, NominalQuota: amounts[r]})
	}
	return f
}
