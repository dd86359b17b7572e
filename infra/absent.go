package infra

// What Azure, Helm charts and other programs call by these keys is fixed here, derived, or left out. Why is said to who writes one.

const (
	noSpot   = "there are no spot nodes: what Azure takes back may be the only node of a run"
	noLabels = "AKS gives nodes the labels of their pool, by which the queues choose it, and keeps most others to itself"
	noTaints = "the nodes of a size with GPUs are tainted, and what should run there tolerates that; no others are"
	noDriver = "AKS installs the GPU driver, and operators.devicePlugin what offers GPUs to pods"
)

// Absent says why the keys are no part of infra.
func (Args) Absent() map[string]string {
	return map[string]string{
		"allowPoolReplace": "allowReplace lists what may be replaced, for example [pools.a100]",
		"gpu":              noDriver,
		"region":           "it is azure-native:location, beside ray-on-aks:infra",
		"location":         "it is azure-native:location, beside ray-on-aks:infra",
	}
}

// Absent says why the keys are no part of a cluster.
func (Cluster) Absent() map[string]string {
	return map[string]string{
		"autoUpgrade":        "kubernetesVersion alone upgrades the cluster, or the next `up` would undo it",
		"autoUpgradeChannel": "kubernetesVersion alone upgrades the cluster, or the next `up` would undo it",
		"version":            "it is kubernetesVersion",
	}
}

// Absent says why the keys are no part of a pool.
func (Pool) Absent() map[string]string {
	return map[string]string{
		"priority": noSpot, "scaleSetPriority": noSpot, "scaleSetEvictionPolicy": noSpot, "spotMaxPrice": noSpot,
		"labels": noLabels, "nodeLabels": noLabels, "taints": noTaints, "nodeTaints": noTaints,
		"mode":              "all pools are for workloads; AKS's own pods and the operators run on infra.cluster.system",
		"gpuDriver":         noDriver,
		"enableAutoScaling": "the autoscaler owns every pool: set min and max, to the same number for one that stays as it is",
		"nodes":             "the autoscaler owns every pool: set min and max, to the same number for one that stays as it is",
	}
}

// Absent says why the keys are no part of the storage.
func (Storage) Absent() map[string]string {
	const mounts = "a workload lists in storage which of containers it mounts, with the identity of its team"
	const keys = "the account has no shared keys, and mounts take the token of a pod's identity"
	const options = "mounts have a bounded cache, for which nodes keep memory"
	return map[string]string{
		"mounts": mounts, "storageClass": mounts, "volumes": mounts,
		"allowSharedKeyAccess": keys, "mountWithWorkloadIdentityToken": keys, "auth": keys,
		"mountOptions": options, "cacheSizeMB": options, "cache": options,
	}
}

// Absent says why the keys are no part of the operators.
func (Operators) Absent() map[string]string {
	const driver = "AKS installs the driver of Blob storage; a second one would fight with it"
	return map[string]string{"gpuOperator": noDriver, "nvidia": noDriver, "blobCSIDriver": driver, "blobCSI": driver}
}

// Absent says why the keys are no part of an operator.
func (Operator) Absent() map[string]string {
	const fixed = "what the operator is told follows from the rest of the stack"
	return map[string]string{"values": fixed, "env": fixed, "featureGates": fixed}
}
