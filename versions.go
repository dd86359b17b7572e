package main

import (
	"ray-on-aks/infra"
	"ray-on-aks/workloads"
)

// Every version that this program pins, in one place. A component never names a version: it is given one from here, and
// versions_test.go holds go.mod, the modules that the rehearsal is built from, and what its plugins call themselves to the same numbers.
const (
	// KubernetesMinor is what AKS is asked for; AKS picks the newest patch of it that the region offers.
	// https://github.com/kubernetes/kubernetes/releases/tag/v1.35.3
	KubernetesMinor = "1.35"
	// KubernetesRehearsal is the patch release that the rehearsal runs its control plane from.
	// https://github.com/kubernetes/kubernetes/releases/tag/v1.35.3
	KubernetesRehearsal = "1.35.3"
	// EtcdVersion is the store under the rehearsal's API server.
	// https://github.com/etcd-io/etcd/releases/tag/v3.6.8
	EtcdVersion = "3.6.8"
	// KwokVersion plays the rehearsal's nodes.
	// https://github.com/kubernetes-sigs/kwok/releases/tag/v0.8.0
	KwokVersion = "0.8.0"

	// KueueVersion is the chart's version and that of the API types.
	// https://github.com/kubernetes-sigs/kueue/releases/tag/v0.17.1
	KueueVersion = "0.17.1"
	// KueueChart is Microsoft's build of Kueue's chart, with images from the same registry.
	// https://learn.microsoft.com/azure/aks/kueue-overview
	KueueChart = chartRepository + "/kueue"
	// KubeRayVersion is the operator chart's version and that of the API types and validators.
	// https://github.com/ray-project/kuberay/releases/tag/v1.6.1
	KubeRayVersion = "1.6.1"
	// KueueEarlierVersion and KubeRayEarlierVersion are what a rehearsal upgrades from.
	// https://github.com/kubernetes-sigs/kueue/releases/tag/v0.16.6
	KueueEarlierVersion   = "0.16.6"
	KubeRayEarlierVersion = "1.5.1"
	// KubeRayChart is Microsoft's build of KubeRay's chart.
	// https://learn.microsoft.com/azure/aks/ray-overview
	KubeRayChart = chartRepository + "/kuberay-operator"

	// DevicePluginVersion is that of NVIDIA's chart: the plugin offers the GPUs of a node to Kubernetes.
	// https://github.com/NVIDIA/k8s-device-plugin/releases/tag/v0.17.0
	DevicePluginVersion = "0.17.0"
	// DevicePluginChart and DevicePluginRepository are NVIDIA's own; AKS installs the driver but no plugin.
	// https://learn.microsoft.com/azure/aks/use-nvidia-gpu
	DevicePluginChart      = "nvidia-device-plugin"
	DevicePluginRepository = "https://nvidia.github.io/k8s-device-plugin"
	// GPUMonitoringVersion is that of Microsoft's chart, which reports the health of GPUs as conditions of their nodes. Its collector reads
	// DCGM's metrics where the node runs DCGM, which AKS does only on pools whose GPUs it manages itself.
	// https://learn.microsoft.com/azure/aks/monitor-gpu-metrics
	GPUMonitoringVersion = "0.1.1"
	// GPUMonitoringChart comes from the same registry as the operators.
	GPUMonitoringChart = chartRepository + "/gpu-monitoring"

	// RayVersion is what the default image holds, and what KubeRay is told that it holds.
	// https://github.com/ray-project/ray/releases/tag/ray-2.55.1
	RayVersion = "2.55.1"
	// RayImage is the default image of every Ray pod.
	// https://mcr.microsoft.com/artifact/mar/aks/ai-runtime/ray/about
	RayImage = "mcr.microsoft.com/aks/ai-runtime/ray:py3.12-ray" + RayVersion + "-cuda13.0"

	// PulumiVersion is the engine that this program is tested with; the SDK in go.mod is of the same release.
	// https://github.com/pulumi/pulumi/releases/tag/v3.274.1
	PulumiVersion = "3.274.1"
	// KubernetesProviderVersion is the provider's SDK.
	// https://github.com/pulumi/pulumi-kubernetes/releases/tag/v4.24.0
	KubernetesProviderVersion = "4.24.0"
	// AzureNativeVersion is the plugin that runs; docs/adr/0002 says why two submodules are older than it.
	// https://github.com/pulumi/pulumi-azure-native/releases/tag/v2.90.0
	AzureNativeVersion = "2.90.0"
	// AzureNativeOlderVersion is that of the submodules containerservice and managedidentity.
	// https://github.com/pulumi/pulumi-azure-native/releases/tag/v2.81.0
	AzureNativeOlderVersion = "2.81.0"
	// RandomProviderVersion is the provider of the storage account's suffix.
	// https://github.com/pulumi/pulumi-random/releases/tag/v4.18.0
	RandomProviderVersion = "4.18.0"

	chartRepository = "oci://mcr.microsoft.com/aks/ai-runtime/helm"
)

// kubernetesMinors are what a stack may ask for, KubernetesMinor among them. 1.34 is the first with mounts by workload identity token; a
// newer one is added when AKS offers it and the pinned operators support it.
// https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
func kubernetesMinors() []string { return []string{"1.34", "1.35", "1.36"} }

// infraVersions hands the infra component what it pins.
func infraVersions() infra.Versions {
	return infra.Versions{
		Kubernetes: kubernetesMinors(),
		Kueue:      infra.Chart{Location: KueueChart, Version: KueueVersion},
		KubeRay:    infra.Chart{Location: KubeRayChart, Version: KubeRayVersion},
		DevicePlugin: infra.Chart{
			Repository: DevicePluginRepository, Location: DevicePluginChart, Version: DevicePluginVersion,
		},
		GPUMonitoring: infra.Chart{Location: GPUMonitoringChart, Version: GPUMonitoringVersion},
	}
}

// workloadVersions hands the workloads component what it pins.
func workloadVersions() workloads.Versions {
	return workloads.Versions{Ray: RayVersion, Image: RayImage}
}
