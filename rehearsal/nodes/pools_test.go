package nodes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/cloud"
)

const (
	clusterID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/main"
	poolID    = clusterID + "/agentPools/cpu"
)

// resources is a cloud with a cluster of one inline pool and a pool apart,
// changed by change.
func resources(change func(inline, apart map[string]any)) cloud.Resources {
	inline := map[string]any{"name": "system", "mode": "System", "vmSize": "Standard_D4ds_v6", "count": 1.0}
	apart := map[string]any{
		"mode": "User", "vmSize": "Standard_D8ds_v6", "count": 2.0,
		"enableAutoScaling": true, "minCount": 1.0, "maxCount": 4.0,
		"nodeLabels": map[string]any{"team": "vision"}, "nodeTaints": []any{"team=vision:NoSchedule", "spot:PreferNoSchedule"},
	}
	if change != nil {
		change(inline, apart)
	}
	return cloud.Resources{
		clusterID: {Type: clusterType, Outputs: map[string]any{"location": "eastus2", "agentPoolProfiles": []any{inline}}},
		poolID: {
			Type: poolType, Outputs: apart, Inputs: map[string]any{"resourceName": "main", "agentPoolName": "cpu"},
		},
	}
}

// byName answers the pools of cluster main.
func byName(t *testing.T, r cloud.Resources) map[string]Pool {
	t.Helper()
	pools := map[string]Pool{}
	for _, p := range Pools(r, "main") {
		if _, twice := pools[p.Name]; twice {
			t.Errorf("pool %s is there twice", p.Name)
		}
		pools[p.Name] = p
	}
	return pools
}

func TestPoolsAreReadInlineAndApart(t *testing.T) {
	pools := byName(t, resources(nil))
	if names := slices.Sorted(maps.Keys(pools)); !slices.Equal(names, []string{"cpu", "system"}) {
		t.Fatalf("pools %v", names)
	}
	system, cpu := pools["system"], pools["cpu"]
	if system.ID != "" || system.Mode != "System" || system.Size != "Standard_D4ds_v6" || system.Count != 1 || system.Autoscaled || system.Location != "eastus2" {
		t.Errorf("inline pool: %+v", system)
	}
	if cpu.ID != poolID || cpu.Count != 2 || cpu.Min != 1 || cpu.Max != 4 || !cpu.Autoscaled || cpu.Location != "eastus2" {
		t.Errorf("pool apart: %+v", cpu)
	}
}

func TestPoolsOfOtherClustersAreNotRead(t *testing.T) {
	r := resources(nil)
	other := strings.TrimSuffix(clusterID, "main") + "not-main"
	r[other] = cloud.Record{Type: clusterType, Outputs: map[string]any{"agentPoolProfiles": []any{map[string]any{"name": "foreign"}}}}
	r[other+"/agentPools/far"] = cloud.Record{Type: poolType, Inputs: map[string]any{"resourceName": "not-main", "agentPoolName": "far"}}
	if names := slices.Sorted(maps.Keys(byName(t, r))); !slices.Equal(names, []string{"cpu", "system"}) {
		t.Errorf("cluster main has pools %v", names)
	}
	if names := slices.Sorted(slices.Values(Clusters(r))); !slices.Equal(names, []string{"main", "not-main"}) {
		t.Errorf("clusters %v", names)
	}
}

func TestAPoolThatIsInlineAndApartCountsOnce(t *testing.T) {
	pools := byName(t, resources(func(inline, _ map[string]any) { inline["name"] = "cpu" }))
	if len(pools) != 1 || pools["cpu"].Mode != "System" {
		t.Errorf("pools %+v", pools)
	}
}

func TestANodeIsLabelledTaintedAndSizedAsItsPoolSays(t *testing.T) {
	node, err := byName(t, resources(nil))["cpu"].Node(1)
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"kubernetes.azure.com/agentpool": "cpu", "agentpool": "cpu", "kubernetes.azure.com/mode": "user", "team": "vision",
		"node.kubernetes.io/instance-type": "Standard_D8ds_v6", "topology.kubernetes.io/region": "eastus2",
		"kubernetes.io/hostname": node.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
	} {
		if got := node.Labels[label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	if _, ok := node.Labels["accelerator"]; ok {
		t.Error("a node without GPUs says that it has some")
	}
	if _, ok := node.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"]; ok {
		t.Error("the attach-detach controller will wait for a driver on the node")
	}
	want := []corev1.Taint{
		{Key: "team", Value: "vision", Effect: corev1.TaintEffectNoSchedule}, {Key: "spot", Effect: corev1.TaintEffectPreferNoSchedule},
	}
	if !slices.Equal(node.Spec.Taints, want) {
		t.Errorf("taints %v, want %v", node.Spec.Taints, want)
	}
	size, err := sku.Lookup("Standard_D8ds_v6")
	if err != nil {
		t.Fatal(err)
	}
	left := size.Node()
	if cpu, memory := node.Status.Allocatable.Cpu().MilliValue(), node.Status.Allocatable.Memory().Value(); cpu != left.MilliCPU || memory != left.MemoryMiB<<20 {
		t.Errorf("allocatable %dm and %d bytes, want %+v", cpu, memory, left)
	}
	if node.Status.Capacity.Cpu().Value() != 8 || node.Status.Capacity.Memory().Value() != 32<<30 || node.Status.Allocatable.Pods().Value() != sku.MaxPods {
		t.Errorf("capacity %v", node.Status.Capacity)
	}
}

func TestAGPUNodeOffersItsGPUs(t *testing.T) {
	for size, want := range map[string]int64{"Standard_NC24ads_A100_v4": 1, "Standard_NC96ads_A100_v4": 4, "Standard_ND96amsr_A100_v4": 8} {
		node, err := Pool{Name: "gpu", Size: size, Taints: []string{aks.TaintString(aks.TaintGPU())}}.Node(0)
		if err != nil {
			t.Fatal(err)
		}
		allocatable, capacity := node.Status.Allocatable[aks.ResourceGPU], node.Status.Capacity[aks.ResourceGPU]
		if allocatable.Value() != want || capacity.Value() != want || node.Labels["accelerator"] != "nvidia" {
			t.Errorf("%s: %v of %v GPUs, label %q", size, &allocatable, &capacity, node.Labels["accelerator"])
		}
		if !slices.Contains(node.Spec.Taints, aks.TaintGPU()) {
			t.Errorf("%s: taints %v, want %v", size, node.Spec.Taints, aks.TaintGPU())
		}
	}
}

func TestNodeNamesSayThePoolAndAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []Pool{{Name: "cpu", Size: "Standard_D4ds_v6"}, {Name: "cpu2", Size: "Standard_D4ds_v6"}} {
		for i := range 2 {
			node, err := p.Node(i)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(node.Name, "aks-"+p.Name+"-") || seen[node.Name] {
				t.Errorf("node %d of pool %s is named %s", i, p.Name, node.Name)
			}
			seen[node.Name] = true
		}
	}
}

func TestAPoolThatNoNodeCanBeMadeOfIsRefusedByName(t *testing.T) {
	for name, p := range map[string]Pool{
		"unknown size":            {Name: "cpu", Size: "Standard_None"},
		"taint without an effect": {Name: "cpu", Size: "Standard_D4ds_v6", Taints: []string{"team=vision"}},
	} {
		if _, err := p.Node(0); err == nil || !strings.Contains(err.Error(), "pool cpu") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
