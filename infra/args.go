package infra

// Args declares where the workloads run. It is the stack's `infra` object; the fields without a key are filled in by main.
type Args struct {
	// Name is part of the name of every Azure resource: rg-<name>, aks-<name>, id-<name>-<team>. Default: ray-<stack>. Changing
	// it replaces everything.
	Name string `json:"name"`
	// ServiceAccount is what the workloads' pods run as, in each tenant's namespace. Default: ray-workload.
	ServiceAccount string `json:"serviceAccount"`
	// Cluster is the AKS cluster and its system pool.
	Cluster Cluster `json:"cluster"`
	// Pools are the node pools that workloads run on, by name. `cpu` is always there; without a pool whose size has GPUs, nothing that
	// GPUs need is installed.
	Pools Pools `json:"pools"`
	// SKUs are VM sizes that the table of infra/sku lacks, by name. Default: none.
	SKUs map[string]Size `json:"skus"`
	// Storage is where inputs, checkpoints and results lie.
	Storage Storage `json:"storage"`
	// Operators are KubeRay, Kueue and what GPU nodes need.
	Operators Operators `json:"operators"`
	// Protect refuses to delete or replace cluster, pools and storage. Default: in prod.
	Protect bool `json:"protect"`
	// AllowReplace names what is left unprotected for all that: cluster, with its pools; storage, with its containers; pools.<name>.
	// Default: none. A replacement goes through in the same `up`. What is taken out of the config is deleted only by an `up` after that
	// with its name here, since Pulumi then goes by the protection that its state holds.
	AllowReplace []string `json:"allowReplace"`
	// Tags are put on every Azure resource that takes some: at most 50, with names of 128 characters, which is what a storage account takes,
	// and values of 256. Default: project and stack; what a stack names is added or changed.
	// Identities keep those that they are made with.
	Tags map[string]string `json:"tags"`

	// Tenants have a namespace, an identity and mounts each.
	Tenants []Tenant `json:"-"`
	// Location is the Azure region (config azure-native:location).
	Location string `json:"-"`
	// SubscriptionID is the Azure subscription (config azure-native:subscriptionId).
	SubscriptionID string `json:"-"`
	// Charts is the folder, relative to the project, that this program writes charts of its own into. Helm reads them from there.
	Charts string `json:"-"`
	// Versions are the pinned versions.
	Versions Versions `json:"-"`
}

// Tenant is who runs workloads here: a team, or everybody where no team is declared.
type Tenant struct {
	// Name is the tenant's.
	Name string
	// Namespace is where its workloads run. No two tenants share one, as queues makes sure. Logical names carry a handle of it, so that adding
	// or removing another tenant touches nothing of this one, and renaming this one nothing that lies in its namespace.
	Namespace string
	// Key is where config names the namespace, for messages.
	Key string
}

// Versions are what this component installs unless config says otherwise, and what config may say.
type Versions struct {
	// Kubernetes are the minors that the cluster may be of.
	Kubernetes []string
	// Kueue and KubeRay are the operators' charts.
	Kueue, KubeRay Chart
	// DevicePlugin and GPUMonitoring are the charts of what GPU nodes need.
	DevicePlugin, GPUMonitoring Chart
}

// Chart is a Helm chart at one version.
type Chart struct {
	// Location is an oci:// reference, a folder, or the chart's name in Repository.
	Location string
	// Version is the chart's version.
	Version string
	// Repository is the URL of a classic Helm repository; empty for an oci:// reference or a folder.
	Repository string
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
	// VMSize is a size without GPUs, of infra/sku or of `skus`. Default: Standard_D4ds_v6.
	VMSize string `json:"vmSize"`
	// Count is the number of nodes. Default: 2 in dev, 3 in prod.
	Count int `json:"count"`
	// Zones are where the nodes are. Default: none in dev, all three in prod. They are chosen with the cluster: AKS refuses to change
	// them later.
	Zones Zones `json:"zones"`
}

// Storage declares the storage account.
type Storage struct {
	// AccountPrefix begins the account's name; eight random letters and digits follow. Default: ray.
	AccountPrefix string `json:"accountPrefix"`
	// SKU is the redundancy. Default: Standard_LRS in dev, Standard_ZRS in prod.
	SKU string `json:"sku"`
	// Containers are the blob containers; each can be mounted by every tenant. Default: aurora, llm-pipeline, models.
	Containers []string `json:"containers"`
	// HierarchicalNamespace is decided at creation and for ever. Default: false, since it forbids versioning and replication.
	HierarchicalNamespace bool `json:"hierarchicalNamespace"`
}
