package main

import (
	"ray-on-aks/infra"
	"ray-on-aks/workloads"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// outputs are what people and scripts ask a stack for. They are an interface: main_test.go holds the list.
func outputs(cfg Config, where *infra.Infra, what *workloads.Workloads) pulumi.Map {
	runs := pulumi.StringMap{}
	for _, r := range what.Runs {
		runs[r.Workload] = pulumi.String(r.Name)
	}
	return pulumi.Map{
		"resourceGroup":  where.ResourceGroup,
		"clusterName":    where.ClusterName,
		"kubeconfig":     where.Kubeconfig,
		"storageAccount": where.StorageAccount,
		"namespace":      pulumi.String(cfg.Infra.Namespace),
		"clusterQueue":   pulumi.String(cfg.Queues.ClusterQueue),
		"localQueue":     pulumi.String(cfg.Queues.LocalQueue),
		"runs":           runs,
	}
}
