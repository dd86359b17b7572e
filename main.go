// Command ray-on-aks is a Pulumi program: an AKS cluster with Ray and queues, and the workloads that wait in them.
package main

import (
	"ray-on-aks/infra"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"

	azure "github.com/pulumi/pulumi-azure-native-sdk/v2"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() { pulumi.Run(program) }

func program(ctx *pulumi.Context) error {
	cfg, err := loadConfig(ctx)
	if err != nil {
		return err
	}
	for _, warning := range cfg.Warnings() {
		if err := ctx.Log.Warn(warning, nil); err != nil {
			return err
		}
	}
	results, err := build(ctx, cfg)
	if err != nil {
		return err
	}
	for name, value := range results {
		ctx.Export(name, value)
	}
	return nil
}

// build creates the stack's resources and returns its outputs.
func build(ctx *pulumi.Context, cfg Config) (pulumi.Map, error) {
	if cfg.Platform.Stack != "" {
		return buildOnPlatform(ctx, cfg)
	}
	registered, err := infra.Everything(ctx)
	if err != nil {
		return nil, err
	}
	azureProvider, err := azure.NewProvider(ctx, "azure-native", &azure.ProviderArgs{
		Location:       pulumi.String(cfg.Infra.Location),
		SubscriptionId: pulumi.String(cfg.Infra.SubscriptionID),
	})
	if err != nil {
		return nil, err
	}
	randomProvider, err := random.NewProvider(ctx, "random", nil)
	if err != nil {
		return nil, err
	}

	where, err := infra.New(ctx, "infra", cfg.Infra, pulumi.Providers(azureProvider, randomProvider))
	if err != nil {
		return nil, err
	}

	cfg.Queues.InCluster, cfg.Queues.Namespaces = where.InCluster(), where.Namespaces
	who, err := queues.New(ctx, "queues", cfg.Queues, pulumi.Provider(where.Kubernetes))
	if err != nil {
		return nil, err
	}

	cfg.Workloads.InCluster = append(where.InCluster(), pulumi.DependsOn(append(where.Settled(), who.Objects...)))
	what, err := workloads.New(ctx, "workloads", cfg.Workloads, pulumi.Providers(where.Kubernetes, randomProvider))
	if err != nil {
		return nil, err
	}

	if err := where.Guard(ctx, registered()); err != nil {
		return nil, err
	}
	return outputs(cfg, where, what)
}
