// Package aks holds the label keys, taints and names that Azure, Kueue and Ray agree on. Each is spelt once, here: a pool, the
// flavor derived from it and the pods that run on it must say the same thing or nothing is ever scheduled.
package aks

import corev1 "k8s.io/api/core/v1"

const (
	// LabelPool is the label that AKS gives every node with the name of its pool. It is also known to the autoscaler for
	// pools that are scaled to zero. https://learn.microsoft.com/azure/aks/use-labels#reserved-system-labels
	LabelPool = "kubernetes.azure.com/agentpool"
	// LabelMode is the label that tells system from user pools.
	LabelMode = "kubernetes.azure.com/mode"
	// ModeSystem is LabelMode's value on system nodes.
	ModeSystem = "system"

	// LabelAccelerator is the label that AKS gives every node with GPUs; it is reserved, so no pool can set it.
	// https://learn.microsoft.com/azure/aks/use-nvidia-gpu
	LabelAccelerator = "accelerator"
	// AcceleratorNVIDIA is LabelAccelerator's value on nodes with NVIDIA's GPUs.
	AcceleratorNVIDIA = "nvidia"

	// LabelUseIdentity on a pod asks the workload identity webhook to mount a token.
	// https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html
	LabelUseIdentity = "azure.workload.identity/use"
	// AnnotationClientID on a service account names the identity that its tokens are exchanged for.
	AnnotationClientID = "azure.workload.identity/client-id"

	// LabelQueue on a job names the LocalQueue that it waits in.
	LabelQueue = "kueue.x-k8s.io/queue-name"
	// LabelPriority on a job names its WorkloadPriorityClass.
	LabelPriority = "kueue.x-k8s.io/priority-class"

	// LabelName is Kubernetes' well-known label for what an object is a part of.
	LabelName = "app.kubernetes.io/name"
	// LabelManagedBy is its well-known label for the tool that made an object.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// LabelNamespace is the label that it puts on a namespace itself: the name.
	LabelNamespace = "kubernetes.io/metadata.name"
	// LabelTenant on a namespace says that it is a tenant's, and whose. Kueue manages the jobs of such namespaces.
	LabelTenant = "ray-on-aks/tenant"
	// ManagedBy is LabelManagedBy's value on everything that this program makes.
	ManagedBy = "ray-on-aks"

	// ResourceGPU is the extended resource that the device plugin offers.
	ResourceGPU corev1.ResourceName = "nvidia.com/gpu"

	// MountRoot is where pods see blob containers: container c is mounted at MountRoot/c in those that ask for it.
	MountRoot = "/mnt/blob"
	// PlatformConfigMap is the ConfigMap, one in each tenant's namespace, that pods read by envFrom: KeyStorageAccount and KeyLocation.
	PlatformConfigMap = "platform"
	// KeyStorageAccount is PlatformConfigMap's key, and so a pod's variable, for the name of the storage account.
	KeyStorageAccount = "STORAGE_ACCOUNT"
	// KeyLocation is that for the Azure region.
	KeyLocation = "AZURE_LOCATION"
)

// ClaimName is the name that the claim for a blob container has in every tenant's namespace.
func ClaimName(container string) string { return "blob-" + container }

// TaintSystem keeps everything but cluster services off the system pool.
func TaintSystem() corev1.Taint {
	return corev1.Taint{Key: "CriticalAddonsOnly", Value: "true", Effect: corev1.TaintEffectNoSchedule}
}

// TaintGPU keeps everything that asks for no GPU off nodes that have some. Only worker templates with GPUs tolerate it.
func TaintGPU() corev1.Taint {
	return corev1.Taint{Key: string(ResourceGPU), Value: "present", Effect: corev1.TaintEffectNoSchedule}
}

// TaintString writes a taint as the AKS API takes it.
func TaintString(t corev1.Taint) string {
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}
