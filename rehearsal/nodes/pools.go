// Package nodes makes the nodes of a rehearsed cluster from the node pools of
// the emulated cloud, and moves their number as AKS's cluster autoscaler would.
package nodes

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/cloud"
)

const (
	// The emulator's type tokens; a test holds them. Importing them would bring
	// Microsoft's whole SDK along.
	clusterType = "azure-native:containerservice/v20240901:ManagedCluster"
	poolType    = "azure-native:containerservice/v20240901:AgentPool"

	// simulated marks the nodes for KWOK and for a reader of `kubectl get nodes`.
	simulated = "kwok.x-k8s.io/node"
)

// Pool is a node pool as the emulated cloud holds it.
type Pool struct {
	// ID is the AgentPool's ARM id; empty for a pool inline in the cluster.
	ID               string
	Name, Mode, Size string
	Count, Min, Max  int
	Autoscaled       bool
	Labels           map[string]string
	Taints           []string
	Location         string
	// Version is what its kubelets report, such as v1.35.3.
	Version string
}

// Clusters answers the names of the ManagedClusters in the cloud.
func Clusters(resources cloud.Resources) []string {
	var names []string
	for id, r := range resources {
		if r.Type == clusterType {
			names = append(names, id[strings.LastIndexByte(id, '/')+1:])
		}
	}
	return names
}

// Pools answers the node pools of a cluster, those inline and those apart, as
// they are now: a record's outputs are the live state.
func Pools(resources cloud.Resources, cluster string) []Pool {
	var pools []Pool
	location := ""
	inline := map[string]bool{}
	for id, r := range resources {
		if r.Type != clusterType || !strings.HasSuffix(id, "/"+cluster) {
			continue
		}
		location = text(r.Outputs, "location")
		profiles, _ := r.Outputs["agentPoolProfiles"].([]any)
		for _, p := range profiles {
			if profile, ok := p.(map[string]any); ok {
				pool := fromBody(profile, text(profile, "name"))
				inline[pool.Name] = true
				pools = append(pools, pool)
			}
		}
	}
	for id, r := range resources {
		if r.Type == poolType && text(r.Inputs, "resourceName") == cluster {
			pool := fromBody(r.Outputs, text(r.Inputs, "agentPoolName"))
			pool.ID = id
			if !inline[pool.Name] {
				pools = append(pools, pool)
			}
		}
	}
	for i := range pools {
		pools[i].Location = location
	}
	return pools
}

func fromBody(body map[string]any, name string) Pool {
	autoscaled, _ := body["enableAutoScaling"].(bool)
	p := Pool{
		Name: name, Mode: text(body, "mode"), Size: text(body, "vmSize"),
		Count: number(body, "count"), Min: number(body, "minCount"), Max: number(body, "maxCount"),
		Autoscaled: autoscaled, Labels: map[string]string{}, Version: text(body, "currentOrchestratorVersion"),
	}
	labels, _ := body["nodeLabels"].(map[string]any)
	for key := range labels {
		p.Labels[key] = text(labels, key)
	}
	taints, _ := body["nodeTaints"].([]any)
	for _, t := range taints {
		if s, ok := t.(string); ok {
			p.Taints = append(p.Taints, s)
		}
	}
	return p
}

// scales says whether the autoscaler moves the pool's count. A pool inline in
// the cluster keeps its own: it holds the operators.
func (p Pool) scales() bool { return p.Autoscaled && p.ID != "" }

func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func number(m map[string]any, key string) int {
	f, _ := m[key].(float64)
	return int(f)
}

// Node builds the pool's node of that index as AKS names and labels it.
func (p Pool) Node(index int) (*corev1.Node, error) {
	size, err := sku.Lookup(p.Size)
	if err != nil {
		// ARM is told the name of a size alone, so the stack's own sizes are not known here.
		return nil, fmt.Errorf("pool %s: the rehearsal makes nodes of the sizes in infra/sku, not of those that a stack declares: %w", p.Name, err)
	}
	hash := fnv.New32a()
	fmt.Fprint(hash, p.ID, p.Name, p.Size)
	name := fmt.Sprintf("aks-%s-%08d-vmss%06d", p.Name, hash.Sum32()%100000000, index)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			// A kubelet would also ask for the attach-detach controller, which
			// would wait for drivers that do not run here.
			Annotations: map[string]string{simulated: "fake"},
			Labels:      p.nodeLabels(name, size),
		},
		Spec: corev1.NodeSpec{
			ProviderID: "azure:///emulated/virtualMachineScaleSets/aks-" + p.Name + "/virtualMachines/" + fmt.Sprint(index),
		},
	}
	for _, t := range p.Taints {
		taint, err := parseTaint(t)
		if err != nil {
			return nil, fmt.Errorf("pool %s: %w", p.Name, err)
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	if p.Version != "" {
		node.Status.NodeInfo.KubeletVersion = p.Version
	}
	left := size.Node()
	node.Status.Capacity = offers(size.VCPU*1000, size.MemoryGiB<<10, size.GPUs)
	node.Status.Allocatable = offers(left.MilliCPU, left.MemoryMiB, left.GPUs)
	return node, nil
}

// nodeLabels are those of AKS, then the pool's own.
func (p Pool) nodeLabels(name string, size sku.SKU) map[string]string {
	labels := map[string]string{
		aks.LabelPool: p.Name, "agentpool": p.Name,
		aks.LabelMode:                  strings.ToLower(p.Mode),
		corev1.LabelHostname:           name,
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         "amd64",
		corev1.LabelInstanceTypeStable: size.Name,
		corev1.LabelTopologyRegion:     p.Location,
		corev1.LabelTopologyZone:       "0",
	}
	maps.Copy(labels, p.Labels)
	if size.GPUs > 0 {
		labels[aks.LabelAccelerator] = aks.AcceleratorNVIDIA
	}
	return labels
}

// offers are what a node has, or lets pods have. One without GPUs has no
// such resource at all.
func offers(milliCPU, memoryMiB, gpus int64) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryMiB<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(sku.MaxPods, resource.DecimalSI),
	}
	if gpus > 0 {
		list[aks.ResourceGPU] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	return list
}

// parseTaint reads key=value:effect or key:effect.
func parseTaint(s string) (corev1.Taint, error) {
	keyValue, effect, ok := strings.Cut(s, ":")
	if !ok {
		return corev1.Taint{}, fmt.Errorf("taint %q has no effect", s)
	}
	key, value, _ := strings.Cut(keyValue, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}
