package sku

// AKS keeps a part of every node for itself. The rules are those of
// https://learn.microsoft.com/azure/aks/node-resource-reservations (Kubernetes 1.29 and later).
const (
	// MaxPods is the pod limit that every node pool of this program sets. AKS's own default for Azure CNI Overlay is
	// 250, for which it would reserve 5 GiB of each node; Ray nodes run few, large pods.
	MaxPods = 50
	// MaxNodes is the most nodes that AKS allows in one pool.
	// https://learn.microsoft.com/rest/api/aks/managed-clusters/create-or-update#managedclusteragentpoolprofile
	MaxNodes = 1000

	// reservedMiBPerPod and reservedMiBBase make the kubelet's memory reservation, capped at a quarter of the memory.
	// The page counts in MB; reading them as MiB errs on the safe side.
	reservedMiBPerPod = 20
	reservedMiBBase   = 50
	// evictionMiB is the hard eviction threshold memory.available<100Mi.
	evictionMiB = 100
	// kernelPercent of the nominal memory never reaches the kubelet: firmware, kernel and hypervisor keep it. Nodes are
	// seen to report 2 to 3 % less than their size's nominal memory.
	kernelPercent = 3

	// DaemonSetMilliCPU and DaemonSetMemoryMiB are kept free on every node for what runs on each of them (network, CSI drivers, node
	// manager, device plugin, monitoring), since those pods are placed outside the queues.
	DaemonSetMilliCPU  = 500
	DaemonSetMemoryMiB = 1024
	// DaemonSetPods is how many of a node's pods those are: a GPU node of AKS with all of its add-ons has about ten.
	DaemonSetPods = 12
	// WorkloadPods is what is left of a node's pods for workloads.
	WorkloadPods = MaxPods - DaemonSetPods

	// MountPoolMiB is the block cache of one BlobFuse mount: the mounts are told this size, and the blocks that are read and written
	// are held in it. BlobFuse runs beside the pods, one process for each pod and container, so no pod's request covers it.
	MountPoolMiB = 512
	// MountOverheadMiB is what such a process needs beside its blocks: its own heap and the attributes that it caches.
	MountOverheadMiB = 128
	// mountsPerPod is how many containers a pod mounts that has what one such pod is counted with: one that it reads and one that it
	// writes to.
	mountsPerPod = 2
	// vcpuPerPod is how many vCPUs of a CPU node go to such a pod, as many as the heads of most programs have; on a GPU node there is one
	// such pod a GPU.
	vcpuPerPod = 2
)

// Mounts returns for how many BlobFuse mounts a node keeps memory for a pod with these resources: one for each CPU, and on a node with
// GPUs two for each of them. No request covers a mount, so a pod with more could run the node out of memory; those of a full node with no
// more have no more together than the node keeps.
func (r Resources) Mounts() int64 {
	if r.GPUs > 0 {
		return r.GPUs * mountsPerPod
	}
	return r.MilliCPU / 1000 * mountsPerPod / vcpuPerPod
}

// Mounts returns for how many BlobFuse mounts a node of this size keeps memory.
func (s SKU) Mounts() int64 {
	pods := max(1, s.VCPU/vcpuPerPod)
	if s.GPUs > 0 {
		pods = s.GPUs
	}
	return pods * mountsPerPod
}

// reservedMilliCPU is AKS's table for the cores of a host. From 4 cores on it is a line, 100m and 10m a core; sizes above
// the table's 64 cores are put on the same line.
func reservedMilliCPU(vcpu int64) int64 {
	switch {
	case vcpu <= 1:
		return 60
	case vcpu <= 2:
		return 100
	default:
		return 100 + 10*vcpu
	}
}

// reservedMiB is what AKS reserves of a node's memory for the kubelet.
func reservedMiB(totalMiB, maxPods int64) int64 {
	return min(reservedMiBPerPod*maxPods+reservedMiBBase, totalMiB/4)
}

// Node returns the allocatable that a node of this size reports to Kubernetes.
func (s SKU) Node() Resources {
	total := s.MemoryGiB * 1024 * (100 - kernelPercent) / 100
	return Resources{
		MilliCPU:  s.VCPU*1000 - reservedMilliCPU(s.VCPU),
		MemoryMiB: total - reservedMiB(total, MaxPods) - evictionMiB,
		GPUs:      s.GPUs,
	}
}

// Allocatable returns what is left of a node for workloads: what the node reports less the headroom for DaemonSets and for the caches of
// the mounts. Quotas and fit checks use it, so that what a queue admits can also be scheduled, and does not run the node out of memory by
// its mounts if no pod has more of them than Resources.Mounts.
func (s SKU) Allocatable() Resources {
	n := s.Node()
	n.MilliCPU -= DaemonSetMilliCPU
	n.MemoryMiB -= DaemonSetMemoryMiB + s.Mounts()*(MountPoolMiB+MountOverheadMiB)
	return n
}
