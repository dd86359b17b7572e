package queues

import (
	"strings"
	"testing"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/stacktest"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

var (
	cpuPool = Pool{Name: "cpu", Nodes: 2, Node: sku.Resources{MilliCPU: 7320, MemoryMiB: 29610}}
	gpuPool = Pool{Name: "a100", Nodes: 1, Node: sku.Resources{MilliCPU: 90000, MemoryMiB: 800 << 10, GPUs: 4}}
)

func args(pools ...Pool) Args {
	return Args{Shape: ShapeSingle, ClusterQueue: "ray", LocalQueue: "ray-jobs", Namespace: "ray", Pools: pools}
}

func TestGolden(t *testing.T) {
	a := args(gpuPool, cpuPool)
	for name, o := range map[string]crd.Object{
		"resourceflavor": resourceFlavor(gpuPool), "clusterqueue": clusterQueue(a),
		"clusterqueue-cpu": clusterQueue(args(cpuPool)), "localqueue": localQueue(a),
	} {
		fields, err := crd.Fields(o.Spec)
		if err != nil {
			t.Fatal(err)
		}
		stacktest.Golden(t, name, fields)
	}
}

func TestFlavorsNeverTolerate(t *testing.T) {
	fields, err := crd.Fields(resourceFlavor(gpuPool).Spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := fields["tolerations"]; ok {
		t.Error("Kueue would give the toleration to heads and submitters")
	}
}

func TestCPUFlavorComesFirst(t *testing.T) {
	ordered := args(gpuPool, cpuPool).Ordered()
	if ordered[0].Name != "cpu" || ordered[1].Name != "a100" {
		t.Errorf("order %v", ordered)
	}
}

func TestQuota(t *testing.T) {
	a := args(cpuPool)
	a.Quota = map[string]Quota{"cpu": {CPU: ptr.To(resource.MustParse("6"))}}
	if err := a.Validate(); err != nil {
		t.Fatal(err)
	}
	if got, want := a.QuotaOf(cpuPool), (sku.Resources{MilliCPU: 6000, MemoryMiB: 59220}); got != want {
		t.Errorf("quota %+v, want %+v", got, want)
	}
}

func TestValidate(t *testing.T) {
	for words, change := range map[string]func(*Args){
		"queues.shape: must be single":                              func(a *Args) { a.Shape = "teams" },
		"queues.localQueue: must not be default":                    func(a *Args) { a.LocalQueue = "default" },
		`queues.clusterQueue: "Ray" is no Kubernetes name`:          func(a *Args) { a.ClusterQueue = "Ray" },
		"queues.quota.gpu: there is no pool of that name, only cpu": func(a *Args) { a.Quota = map[string]Quota{"gpu": {}} },
		"queues.quota.cpu: is more than 2 nodes of the pool can allocate: cpu 99000m of 14640m": func(a *Args) {
			a.Quota = map[string]Quota{"cpu": {CPU: ptr.To(resource.MustParse("99"))}}
		},
		"queues.quota.cpu: must not be negative": func(a *Args) { a.Quota = map[string]Quota{"cpu": {GPUs: ptr.To[int64](-1)}} },
	} {
		a := args(cpuPool)
		change(&a)
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}
