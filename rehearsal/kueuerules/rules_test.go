// Package kueuerules holds what the program makes for Kueue against Kueue's own
// code: the validators of its webhooks, and what its scheduler's cache says that
// a queue can get. They compile a good part of Kueue, which the program's own
// tests should not.
package kueuerules

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schedulercache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/webhooks"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/stacktest"
	"ray-on-aks/queues"
)

// objects are what Kueue gets of a stack.
type objects struct {
	flavors       []kueue.ResourceFlavor
	clusterQueues []kueue.ClusterQueue
}

// made runs the component and collects what it would send.
func made(t *testing.T, a queues.Args) objects {
	t.Helper()
	recording := stacktest.Run(t, func(ctx *pulumi.Context) error {
		_, err := queues.New(ctx, "queues", a)
		return err
	}, stacktest.Options{Stack: "test"})
	return objects{
		flavors:       decode[kueue.ResourceFlavor](t, recording.OfType(":ResourceFlavor")),
		clusterQueues: decode[kueue.ClusterQueue](t, recording.OfType(":ClusterQueue")),
	}
}

func decode[T any](t *testing.T, list []stacktest.Resource) []T {
	t.Helper()
	all := make([]T, len(list))
	for i, r := range list {
		data, err := json.Marshal(r.Inputs.Mappable())
		if err == nil {
			err = json.Unmarshal(data, &all[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// nothing is a cluster without LocalQueues and Workloads.
type nothing struct{ client.Client }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// snapshot is the objects as Kueue's scheduler sees them.
func (o objects) snapshot(t *testing.T) *schedulercache.Snapshot {
	t.Helper()
	cache := schedulercache.New(nothing{})
	for i := range o.flavors {
		cache.AddOrUpdateResourceFlavor(log.Log, &o.flavors[i])
	}
	for i := range o.clusterQueues {
		if err := cache.AddClusterQueue(t.Context(), &o.clusterQueues[i]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := cache.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestKueueAgrees makes up stacks, and for those that the program accepts asks
// Kueue whether it takes their objects, and what each tenant can get at most.
func TestKueueAgrees(t *testing.T) {
	const stacks = 300
	random, accepted := rand.New(rand.NewPCG(3, 7)), 0
	for range stacks {
		a := anyStack(random)
		if a.Validate() != nil {
			continue
		}
		accepted++
		o := made(t, a)
		var errs field.ErrorList
		for i := range o.flavors {
			errs = append(errs, webhooks.ValidateResourceFlavor(&o.flavors[i])...)
		}
		for i := range o.clusterQueues {
			errs = append(errs, webhooks.ValidateClusterQueue(&o.clusterQueues[i])...)
		}
		if len(errs) > 0 {
			t.Fatalf("Kueue refuses %s: %v", describe(a), errs.ToAggregate())
		}
		compare(t, a, o.snapshot(t))
	}
	if accepted < stacks/3 {
		t.Errorf("only %d of %d stacks were accepted, which shows little", accepted, stacks)
	}
}

// compare holds Ever against Kueue's own count.
func compare(t *testing.T, a queues.Args, s *schedulercache.Snapshot) {
	t.Helper()
	for _, tenant := range a.Tenants() {
		queue := s.ClusterQueue(kueue.ClusterQueueReference(tenant.ClusterQueue))
		for _, p := range a.Pools {
			ever := a.Ever(tenant, p)
			counts := map[corev1.ResourceName]int64{corev1.ResourceCPU: ever.MilliCPU, corev1.ResourceMemory: ever.MemoryMiB << 20}
			if a.Ordered()[len(a.Pools)-1].Node.GPUs > 0 {
				counts[aks.ResourceGPU] = ever.GPUs
			}
			for name, want := range counts {
				got := queue.PotentialAvailable(resources.FlavorResource{Flavor: kueue.ResourceFlavorReference(p.Name), Resource: name})
				if got != want {
					t.Errorf("%s of %s for %s: Kueue says %d, Ever says %d, of %s", name, p.Name, tenant.Name, got, want, describe(a))
				}
			}
		}
	}
}

func describe(a queues.Args) string {
	data, err := json.Marshal(map[string]any{"shape": a.Shape, "quota": a.Quota, "teams": a.Teams})
	return fmt.Sprintf("%s %v", data, err)
}

// anyStack is a stack with or without GPUs, teams, quotas and limits.
func anyStack(random *rand.Rand) queues.Args {
	a := queues.Args{
		Shape: queues.ShapeTeams, ClusterQueue: "ray", Cohort: "ray", LocalQueue: "ray-jobs", Namespace: "ray",
		Pools: []queues.Pool{{Name: "cpu", Nodes: 1 + random.IntN(4), Node: sku.Resources{MilliCPU: 7320, MemoryMiB: 29610}}},
		Quota: map[string]queues.Quota{},
		Teams: queues.Teams{},
	}
	if random.IntN(3) == 0 {
		a.Shape = queues.ShapeSingle
	}
	if random.IntN(4) > 0 {
		a.Pools = append(a.Pools, queues.Pool{
			Name: "a100", Nodes: 1 + random.IntN(2), Taints: []corev1.Taint{aks.TaintGPU()},
			Node: sku.Resources{MilliCPU: 94440, MemoryMiB: 1_884_826, GPUs: 8}, Reserved: sku.Resources{GPUs: random.Int64N(3)},
		})
	}
	for _, name := range []string{"a", "b", "c", "ray"}[:random.IntN(5)] {
		a.Teams[name] = queues.Team{
			Share: 1 + random.IntN(5), Quota: quotas(random, a.Pools, 3), BorrowingLimit: quotas(random, a.Pools, 4), LendingLimit: quotas(random, a.Pools, 8),
		}
	}
	if random.IntN(2) == 0 {
		a.Quota = quotas(random, a.Pools, 8)
	}
	return a
}

// quotas are quotas of some pools, with some of their fields, up to so many
// eighths of the pool.
func quotas(random *rand.Rand, pools []queues.Pool, eighths int64) map[string]queues.Quota {
	all := map[string]queues.Quota{}
	for _, p := range pools {
		fields := map[string]any{}
		whole := p.Node.Times(int64(p.Nodes))
		some := func(n int64) int64 { return random.Int64N(n*eighths/8 + 1) }
		if random.IntN(4) == 0 {
			fields["cpu"] = fmt.Sprintf("%dm", some(whole.MilliCPU))
		}
		if random.IntN(4) == 0 {
			fields["memory"] = fmt.Sprintf("%dMi", some(whole.MemoryMiB))
		}
		if random.IntN(3) == 0 && whole.GPUs > 0 {
			fields["gpus"] = some(whole.GPUs)
		}
		data, err := json.Marshal(fields)
		var q queues.Quota
		if err == nil {
			err = json.Unmarshal(data, &q)
		}
		if err != nil {
			panic(err)
		}
		if len(fields) > 0 {
			all[p.Name] = q
		}
	}
	return all
}
