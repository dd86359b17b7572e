package infra

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"ray-on-aks/infra/sku"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Args declares where the workloads run. It is the stack's `infra` object; the fields without a key are filled in by main.
type Args struct {
	// Name is part of the name of every Azure resource: rg-<name>, aks-<name>, id-<name>. Default: ray-<stack>. Changing it
	// replaces everything.
	Name string `json:"name"`
	// Namespace is where the workloads run. Default: ray.
	Namespace string `json:"namespace"`
	// ServiceAccount is what their pods run as. Default: ray-workload.
	ServiceAccount string `json:"serviceAccount"`
	// Cluster is the AKS cluster and its system pool.
	Cluster Cluster `json:"cluster"`
	// Pools are the node pools that workloads run on, by name. `cpu` is always there.
	Pools Pools `json:"pools"`
	// Storage is where inputs, checkpoints and results lie.
	Storage Storage `json:"storage"`
	// Operators are Kueue and KubeRay.
	Operators Operators `json:"operators"`
	// Protect refuses to delete or replace cluster, pools and storage. Default: in prod.
	Protect bool `json:"protect"`
	// Tags are put on every Azure resource that takes some.
	Tags map[string]string `json:"tags"`

	// Location is the Azure region (config azure-native:location).
	Location string `json:"-"`
	// SubscriptionID is the Azure subscription (config azure-native:subscriptionId).
	SubscriptionID string `json:"-"`
	// Versions are the pinned versions.
	Versions Versions `json:"-"`
}

// Versions are what this component installs unless config says otherwise, and what config may say.
type Versions struct {
	// Kubernetes are the minors that the cluster may be of.
	Kubernetes []string
	// Kueue and KubeRay are the operators' charts.
	Kueue, KubeRay Chart
}

// Chart is a Helm chart at one version.
type Chart struct {
	// Location is an oci:// reference or a folder.
	Location string
	// Version is the chart's version.
	Version string
}

// Cluster declares the AKS cluster.
type Cluster struct {
	// KubernetesVersion is a minor (1.35) or a patch (1.35.3) of those in versions.go. Default: the pinned minor.
	KubernetesVersion string `json:"kubernetesVersion"`
	// Tier is Free, Standard or Premium. Default: Standard, the first with an uptime guarantee.
	Tier string `json:"tier"`
	// DisableLocalAccounts leaves Microsoft Entra as the only way in. Default: in prod. The machine that runs Pulumi then
	// needs kubelogin.
	DisableLocalAccounts bool `json:"disableLocalAccounts"`
	// AdminGroups are object ids of Entra groups that administer the cluster; only with DisableLocalAccounts.
	AdminGroups []string `json:"adminGroups"`
	// Login is how kubelogin authenticates where local accounts are disabled: azurecli (default) or workloadidentity.
	Login Login `json:"login"`
	// System is the pool that AKS's own pods and the operators run on.
	System SystemPool `json:"system"`
}

// Login is a non-interactive login mode of kubelogin.
type Login string

// The login modes that need no browser.
const (
	LoginAzureCLI         Login = "azurecli"
	LoginWorkloadIdentity Login = "workloadidentity"
)

// SystemPool declares the system pool.
type SystemPool struct {
	// VMSize is a size of infra/sku. Default: Standard_D4ds_v6.
	VMSize string `json:"vmSize"`
	// Count is the number of nodes. Default: 2 in dev, 3 in prod.
	Count int `json:"count"`
	// Zones are where the nodes are. Default: none in dev, all three in prod. They are chosen with the cluster: AKS refuses to change
	// them later.
	Zones Zones `json:"zones"`
}

// Pool declares a node pool under the cluster autoscaler.
type Pool struct {
	// VMSize is a size of infra/sku.
	VMSize string `json:"vmSize"`
	// Min and Max bound the number of nodes; Min may be 0.
	Min int `json:"min"`
	// Max is also what the queues' quota is derived from.
	Max int `json:"max"`
	// Count is the number of nodes at creation, between Min and Max. Later changes are ignored: the autoscaler owns it.
	Count int `json:"count"`
	// Zones are where the nodes are. Default: none; all three for prod's cpu pool. A size that only some zones of the region have
	// needs those, or its nodes never come. Changing them replaces the pool.
	Zones Zones `json:"zones"`
}

// Pools are node pools by name.
type Pools map[string]Pool

// UnmarshalJSON decodes onto the pools that are there, so that a stack file says only what differs from the defaults.
func (p *Pools) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	merged := maps.Clone(*p)
	if merged == nil {
		merged = Pools{}
	}
	for name, fields := range raw {
		pool := merged[name]
		if err := json.Unmarshal(fields, &pool); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		merged[name] = pool
	}
	*p = merged
	return nil
}

// Names lists the pools in a fixed order.
func (p Pools) Names() []string { return slices.Sorted(maps.Keys(p)) }

// SKU returns the pool's VM size.
func (p Pool) SKU() (sku.SKU, error) { return sku.Lookup(p.VMSize) }

// Storage declares the storage account.
type Storage struct {
	// AccountPrefix begins the account's name; eight random letters and digits follow. Default: ray.
	AccountPrefix string `json:"accountPrefix"`
	// SKU is the redundancy. Default: Standard_LRS in dev, Standard_ZRS in prod.
	SKU string `json:"sku"`
	// Container is the blob container. Default: models.
	Container string `json:"container"`
	// HierarchicalNamespace is decided at creation and for ever. Default: false, since it forbids versioning and replication.
	HierarchicalNamespace bool `json:"hierarchicalNamespace"`
}

// Operators declares the two operators.
type Operators struct {
	// KubeRay turns RayJobs into pods.
	KubeRay Operator `json:"kuberay"`
	// Kueue decides which RayJobs may run.
	Kueue Kueue `json:"kueue"`
}

// Mode says who installs an operator.
type Mode string

const (
	// ModeInstall installs the operator by its Helm chart.
	ModeInstall Mode = "install"
	// ModePreinstalled takes an operator that is there already, for example as a managed extension of AKS.
	ModePreinstalled Mode = "preinstalled"
)

// Operator declares how one operator comes into the cluster.
type Operator struct {
	// Mode is install (default) or preinstalled.
	Mode Mode `json:"mode"`
	// Chart is an oci:// reference or a folder relative to the project. Default: the pinned one.
	Chart string `json:"chart"`
	// Version is the chart's version. Default: the pinned one; empty for a folder.
	Version string `json:"version"`
}

// Kueue declares Kueue and its configuration.
type Kueue struct {
	Operator
	// Frameworks are job kinds that Kueue manages beside ray.io/rayjob.
	Frameworks []string `json:"frameworks"`
	// WaitForPodsReady is how long an admitted job may take until its pods are ready before it is put back into the queue.
	// Default: 30m, since a GPU node from zero and a Ray image of several gigabytes need that.
	WaitForPodsReady metav1.Duration `json:"waitForPodsReady"`
	// RequeueLimit is how often a job is put back before it is given up. Default: 5.
	RequeueLimit int32 `json:"requeueLimit"`
	// RetainFinished is how long Kueue's records of finished jobs are kept. Default: 168h.
	RetainFinished metav1.Duration `json:"retainFinished"`
}
