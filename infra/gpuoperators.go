package infra

import (
	"strings"

	"ray-on-aks/internal/aks"
)

const (
	devicePluginRelease    = "nvidia-device-plugin"
	devicePluginNamespace  = "kube-system"
	gpuMonitoringRelease   = "gpu-monitoring"
	gpuMonitoringNamespace = "gpu-monitoring"
)

// devicePlugin offers the GPUs of each node to Kubernetes. AKS installs the driver alone.
// https://learn.microsoft.com/azure/aks/use-nvidia-gpu
func (a Args) devicePlugin() helmRelease {
	taint := aks.TaintGPU()
	return helmRelease{
		role: roleDevicePlugin, key: "devicePlugin", name: devicePluginRelease,
		// Beside AKS's own services, as AKS's guide has it: this namespace is there before us and after us.
		namespace: devicePluginNamespace, namespaceExists: true,
		chart: a.Operators.DevicePlugin.or(a.Versions.DevicePlugin),
		values: map[string]any{
			// The chart's own affinity waits for labels that another operator would set.
			"affinity": map[string]any{"nodeAffinity": map[string]any{
				"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{map[string]any{
					"matchExpressions": []any{map[string]any{
						"key": aks.LabelAccelerator, "operator": "In", "values": []any{aks.AcceleratorNVIDIA},
					}},
				}}},
			}},
			"tolerations": []any{map[string]any{
				"key": taint.Key, "operator": "Equal", "value": taint.Value, "effect": string(taint.Effect),
			}},
		},
	}
}

// gpuMonitoring watches the GPUs' health, and reports it as conditions of their nodes.
func (a Args) gpuMonitoring() helmRelease {
	return helmRelease{
		role: roleGPUMonitoring, key: "gpuMonitoring", name: gpuMonitoringRelease, namespace: gpuMonitoringNamespace,
		chart:  a.Operators.GPUMonitoring.or(a.Versions.GPUMonitoring),
		values: map[string]any{"gpuSkus": a.monitoringProfiles()},
	}
}

const (
	// pcieProfiles begins the names of the chart's profiles for A100s without NVLink and InfiniBand.
	pcieProfiles = "a100-pcie-"
	// poolProfiles begins those of ours, so that a pool named a100 is not taken for the chart's.
	poolProfiles = "pool-"
)

// chartProfiles are the chart's own profiles by VM size, in lower case. A profile is a DaemonSet that is placed by the size: a second one
// for the same size would want the same ports of the same nodes, so those of the chart are filled in rather than doubled.
// https://github.com/Azure/taugrid/blob/main/charts/gpu-monitoring/values.yaml
var chartProfiles = map[string]string{
	"standard_nd96asr_v4":       "a100",
	"standard_nd96amsr_a100_v4": "a100",
	"standard_nc24ads_a100_v4":  pcieProfiles + "1g",
	"standard_nc48ads_a100_v4":  pcieProfiles + "2g",
	"standard_nc96ads_a100_v4":  pcieProfiles + "4g",
	"standard_nd96isr_h100_v5":  "h100",
	"standard_nc40ads_h100_v5":  "h100-nvl-1g",
	"standard_nc80adis_h100_v5": "h100-nvl-2g",
	"standard_nd96isr_h200_v5":  "h200",
}

// monitoringProfiles has a profile for each size that pools with GPUs have, named as the chart's for it or else after the first pool.
func (a Args) monitoringProfiles() map[string]any {
	profiles := map[string]any{}
	seen := map[string]bool{}
	for _, pool := range a.gpuPools() {
		size, err := a.SKU(a.Pools[pool])
		if err != nil || seen[size.Name] {
			continue
		}
		seen[size.Name] = true
		name, known := chartProfiles[strings.ToLower(size.Name)]
		if !known {
			name = poolProfiles + pool
		}
		types := []any{size.Name}
		if same, ok := profiles[name].(map[string]any); ok {
			types = append(same["instanceTypes"].([]any), types...)
		}
		profile := map[string]any{"instanceTypes": types, "num_gpus": int(size.GPUs)}
		if !known || strings.HasPrefix(name, pcieProfiles) {
			// What a profile cannot do without, also where this version of the chart has none of that name.
			profile["monitor_config"] = "custom-plugin-monitor.json"
			profile["ib_devices"] = ""
		}
		profiles[name] = profile
	}
	return profiles
}
