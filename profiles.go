package main

import (
	"time"

	"ray-on-aks/infra"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Profile names a complete set of defaults. Pulumi does not merge stack files, so what stacks have in common lives here.
type Profile string

const (
	// ProfileDev is small, cheap and easy to delete.
	ProfileDev Profile = "dev"
	// ProfileProd spreads its nodes and its data over three zones, is protected, and lets people in by Entra only.
	ProfileProd Profile = "prod"
)

// chartsFolder is where charts are that this program makes, beside the stack files.
const chartsFolder = ".charts"

// defaults returns the profile's configuration for a stack. It has no GPU pool: which sizes a subscription may use differs from region to
// region, so a stack declares its own. Without one the stack is CPU only.
func (p Profile) defaults(stack string) Config {
	cfg := Config{
		Infra: infra.Args{
			Name:           "ray-" + stack,
			ServiceAccount: "ray-workload",
			Charts:         chartsFolder,
			Versions:       infraVersions(),
			Cluster: infra.Cluster{
				KubernetesVersion: KubernetesMinor,
				Tier:              "Standard",
				Login:             infra.LoginAzureCLI,
				System:            infra.SystemPool{VMSize: "Standard_D4ds_v6", Count: 2},
			},
			Pools:   infra.Pools{infra.CPUPool: {VMSize: "Standard_D8ds_v6", Min: 0, Max: 4, Count: 0}},
			Storage: infra.Storage{AccountPrefix: "ray", SKU: "Standard_LRS", Containers: []string{"aurora", "llm-pipeline", "models"}},
			Operators: infra.Operators{
				KubeRay:       infra.Operator{Mode: infra.ModeInstall},
				DevicePlugin:  infra.Operator{Mode: infra.ModeInstall},
				GPUMonitoring: infra.Operator{Mode: infra.ModeInstall},
				Kueue: infra.Kueue{
					Operator:         infra.Operator{Mode: infra.ModeInstall},
					WaitForPodsReady: metav1.Duration{Duration: 30 * time.Minute},
					RequeueLimit:     5,
					RetainFinished:   metav1.Duration{Duration: 7 * 24 * time.Hour},
				},
			},
			Tags: map[string]string{"project": "ray-on-aks", "stack": stack},
		},
		Queues: queues.Args{
			Shape: queues.ShapeSingle, ClusterQueue: "ray", LocalQueue: "ray-jobs", Cohort: "ray", Namespace: "ray",
			Priorities: map[string]int32{"low": 100, "normal": 500, "high": 1000},
		},
		Workloads: workloads.Args{Declared: workloads.Catalog(), Platform: workloads.Platform{Versions: workloadVersions()}},
	}
	if p == ProfileProd {
		cfg.Infra.Protect = true
		cfg.Infra.Cluster.DisableLocalAccounts = true
		cfg.Infra.Cluster.System.Count = 3
		cfg.Infra.Cluster.System.Zones = infra.AllZones()
		cfg.Infra.Storage.SKU = "Standard_ZRS"
		cfg.Infra.Pools[infra.CPUPool] = infra.Pool{VMSize: "Standard_D16ds_v6", Min: 0, Max: 8, Count: 0, Zones: infra.AllZones()}
	}
	return cfg
}
