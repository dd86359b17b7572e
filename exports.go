package main

import (
	"maps"

	"ray-on-aks/infra"
	"ray-on-aks/workloads"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// outputs are what people and scripts ask a stack for. They are an interface: exports_test.go holds the list, and which of them are secret.
func outputs(cfg Config, where *infra.Infra, what *workloads.Workloads) (pulumi.Map, error) {
	offer, err := cfg.offer()
	if err != nil {
		return nil, err
	}
	platform, err := offer.output(where.StorageAccount)
	if err != nil {
		return nil, err
	}
	all := pulumi.Map{"platform": platform}
	for _, part := range []pulumi.Map{
		clusterOutputs(cfg, where), storageOutputs(cfg, where), queueOutputs(cfg), workloadOutputs(cfg.Workloads, where.StorageAccount, what),
	} {
		maps.Copy(all, part)
	}
	return all, nil
}

// clusterOutputs tell how to reach the cluster, and what is installed in it.
func clusterOutputs(cfg Config, where *infra.Infra) pulumi.Map {
	pools := pulumi.Map{}
	gpus := false
	for _, name := range cfg.Infra.Pools.Names() {
		pool := cfg.Infra.Pools[name]
		size, err := cfg.Infra.SKU(pool)
		if err != nil {
			continue // refused before anything was created
		}
		gpus = gpus || size.GPUs > 0
		pools[name] = pulumi.Map{
			"vmSize": pulumi.String(size.Name), "min": pulumi.Int(pool.Min), "max": pulumi.Int(pool.Max),
			"gpusPerNode": pulumi.Int(int(size.GPUs)), "quotaFamily": pulumi.String(size.QuotaFamily), "serving": pulumi.Bool(pool.Serving),
		}
	}
	operators := pulumi.StringMap{}
	for name, release := range cfg.Infra.Releases() {
		operators[name] = pulumi.String(release)
	}
	return pulumi.Map{
		"location":      pulumi.String(cfg.Infra.Location),
		"resourceGroup": where.ResourceGroup,
		"clusterName":   where.ClusterName,
		"kubeconfig":    where.Kubeconfig,
		"getCredentialsCommand": pulumi.Sprintf("az aks get-credentials --subscription %s --resource-group %s --name %s",
			cfg.Infra.SubscriptionID, where.ResourceGroup, where.ClusterName),
		"oidcIssuerURL": where.OIDCIssuerURL,
		"tenantId":      where.TenantID,
		"pools":         pools,
		"gpuEnabled":    pulumi.Bool(gpus),
		"operators":     operators,
	}
}

// storageOutputs tell where data lies, and who may reach it.
func storageOutputs(cfg Config, where *infra.Infra) pulumi.Map {
	containers, inputs, adapters := pulumi.StringMap{}, pulumi.StringMap{}, pulumi.StringMap{}
	for _, name := range cfg.Infra.Storage.Containers {
		containers[name] = blobURL(where.StorageAccount, name)
		if path := workloads.Inputs()[name]; path != "" {
			inputs[name] = blobURL(where.StorageAccount, path)
		}
		if path := workloads.Adapters()[name]; path != "" {
			adapters[name] = blobURL(where.StorageAccount, path)
		}
	}
	return pulumi.Map{
		"storageAccount":    where.StorageAccount,
		"containers":        containers,
		"inputs":            inputs,
		"adapters":          adapters,
		"identityClientIds": where.ClientIDs,
		"serviceAccount":    pulumi.String(cfg.Infra.ServiceAccount),
	}
}

// queueOutputs are all plain: they name what workloads may wait for.
func queueOutputs(cfg Config) pulumi.Map {
	namespaces, localQueues, clusterQueues := pulumi.StringMap{}, pulumi.StringMap{}, pulumi.StringMap{}
	for _, t := range cfg.Queues.Tenants() {
		namespaces[t.Name] = pulumi.String(t.Namespace)
		localQueues[t.Name] = pulumi.String(t.Namespace + "/" + t.LocalQueue)
		clusterQueues[t.Name] = pulumi.String(t.ClusterQueue)
	}
	flavors := pulumi.StringArray{}
	for _, p := range cfg.Queues.Ordered() {
		flavors = append(flavors, pulumi.String(p.Name))
	}
	priorities := pulumi.IntMap{}
	for name, value := range cfg.Queues.Priorities {
		priorities[name] = pulumi.Int(int(value))
	}
	return pulumi.Map{
		"namespaces":    namespaces,
		"localQueues":   localQueues,
		"clusterQueues": clusterQueues,
		"flavors":       flavors,
		"priorities":    priorities,
	}
}

// workloadOutputs name the runs, where their results lie, and where services answer.
func workloadOutputs(args workloads.Args, storageAccount pulumi.StringInput, what *workloads.Workloads) pulumi.Map {
	runs, services := pulumi.Map{}, pulumi.StringMap{}
	for _, r := range what.Runs {
		run := pulumi.Map{
			"name": pulumi.String(r.Name), "namespace": pulumi.String(r.Namespace), "kind": pulumi.String(string(r.Kind)),
			"id": pulumi.String(r.ID), "result": pulumi.String(""),
		}
		if r.Output != "" {
			run["result"] = blobURL(storageAccount, r.Output+"/"+r.ID)
		}
		runs[r.Workload] = run
		if r.Kind == workloads.KindRayService {
			services[r.Workload] = pulumi.String(r.URL())
		}
	}
	return pulumi.Map{
		"rayVersion":    pulumi.String(args.Versions.Ray),
		"rayImage":      pulumi.String(args.Versions.Image),
		"runs":          runs,
		"services":      services,
		"serviceTokens": what.Tokens,
	}
}

// blobURL is the address of a container, or of what lies under a path in it.
func blobURL(storageAccount pulumi.StringInput, path string) pulumi.StringOutput {
	return pulumi.Sprintf("https://%s.blob.core.windows.net/%s", storageAccount, path)
}
