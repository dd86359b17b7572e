package infra

import (
	"fmt"
	"strings"
	"testing"
)

func TestValidArgumentsPass(t *testing.T) {
	for name, args := range map[string]Args{"CPU only": valid(), "GPU pools and two tenants": large()} {
		if err := args.Validate(); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
}

// refused checks for each change of valid arguments that it is refused in these words.
func refused(t *testing.T, cases map[string]func(*Args)) {
	t.Helper()
	for words, change := range cases {
		args := valid()
		change(&args)
		if err := args.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}

func TestAzureIsAskedForWhatItHas(t *testing.T) {
	refused(t, map[string]func(*Args){
		"azure-native:location: must name an":                        func(a *Args) { a.Location = " " },
		"azure-native:location: must name":                           func(a *Args) { a.Location = "" },
		"azure-native:subscriptionId: must be a subscription's UUID": func(a *Args) { a.SubscriptionID = "mine" },
		"infra.name: \"ray.\" is no name for a cluster: at most 54 characters of letters, digits and -, beginning and ending with a letter or digit; \"ray\" would do": func(a *Args) { a.Name = "ray." },
		"infra.name: \"" + strings.Repeat("a", 55):            func(a *Args) { a.Name = strings.Repeat("a", 55) },
		"infra.serviceAccount: \"Me\" is no Kubernetes name":  func(a *Args) { a.ServiceAccount = "Me" },
		"infra.serviceAccount: must not be default":           func(a *Args) { a.ServiceAccount = "default" },
		"infra.storage.accountPrefix: \"My-Data\" is no name": func(a *Args) { a.Storage.AccountPrefix = "My-Data" },
		"infra.storage.containers[1]: \"a--b\" is no name":    func(a *Args) { a.Storage.Containers[1] = "a--b" },
		"infra.storage.containers[2]: repeats aurora":         func(a *Args) { a.Storage.Containers = []string{"aurora", "models", "aurora"} },
		"infra.storage.containers: must name one":             func(a *Args) { a.Storage.Containers = nil },
		"infra.storage.sku: must be one of":                   func(a *Args) { a.Storage.SKU = "Premium_LRS" },
	})
}

func TestClustersAreAsAKSAllows(t *testing.T) {
	const group = "00000000-0000-0000-0000-000000000001"
	refused(t, map[string]func(*Args){
		"infra.cluster.kubernetesVersion: must be like":                     func(a *Args) { a.Cluster.KubernetesVersion = "latest" },
		`of 1.34, 1.35, got "1.99": `:                                       func(a *Args) { a.Cluster.KubernetesVersion = "1.99" },
		`of 1.34, 1.35, got "1.33.4": `:                                     func(a *Args) { a.Cluster.KubernetesVersion = "1.33.4" },
		`of 1.34, 1.35, got "1.9": `:                                        func(a *Args) { a.Cluster.KubernetesVersion = "1.9" },
		"infra.cluster.tier: must be one of":                                func(a *Args) { a.Cluster.Tier = "standard" },
		"infra.cluster.login: must be one of azurecli, workloadidentity":    func(a *Args) { a.Cluster.Login = "devicecode" },
		"infra.cluster.adminGroups: has no effect":                          func(a *Args) { a.Cluster.AdminGroups = []string{"x"} },
		"infra.cluster.adminGroups[0]: must be the object id":               func(a *Args) { a.Cluster.AdminGroups = []string{"x"} },
		"infra.cluster.adminGroups[1]: repeats " + group + "; leave it out": func(a *Args) { a.Cluster.DisableLocalAccounts, a.Cluster.AdminGroups = true, []string{group, group} },
		"infra.cluster.system.vmSize: unknown VM size":                      func(a *Args) { a.Cluster.System.VMSize = "big" },
		"infra.cluster.system.vmSize: must be a size without GPUs":          func(a *Args) { a.Cluster.System.VMSize = "Standard_NC24ads_A100_v4" },
		"infra.pools.cpus.vmSize: must be set; did you mean cpu?":           func(a *Args) { a.Pools["cpus"] = Pool{Max: 8} },
		"infra.pools.gpu.vmSize: must be set, for example Standard_D4ds_v6": func(a *Args) { a.Pools["gpu"] = Pool{Max: 8} },
		"infra.pools: must be at most 99 pools, as AKS takes 100 in a cluster and one is the system's, got 100": func(a *Args) {
			for i := range 99 {
				a.Pools[fmt.Sprintf("p%d", i)] = Pool{VMSize: "Standard_D8ds_v6", Max: 1}
			}
		},
		"infra.cluster.system.vmSize: must be a size of 4 vCPUs and 4 GiB at least, as AKS asks of a system pool, got Standard_D2ds_v6 with 2 and 8; Standard_D4ds_v6 would do": func(a *Args) {
			a.SKUs, a.Cluster.System.VMSize = map[string]Size{"Standard_D2ds_v6": small}, "Standard_D2ds_v6"
		},
		"infra.cluster.system.vmSize: must not be of the B series": func(a *Args) {
			a.SKUs, a.Cluster.System.VMSize = map[string]Size{"Standard_B8ms": {VCPUs: 8, MemoryGiB: 32, QuotaFamily: "standardBSFamily"}}, "Standard_B8ms"
		},
		"infra.cluster.system.count: must be between 1 and 254, got 0":     func(a *Args) { a.Cluster.System.Count = 0 },
		"infra.cluster.system.count: must be between 1 and 254, got 1001":  func(a *Args) { a.Cluster.System.Count = 1001 },
		"infra.cluster.system.zones[0]: must be one of 1, 2, 3, got \"a\"": func(a *Args) { a.Cluster.System.Zones = Zones{"a"} },
	})
}

func TestPoolsAreAsAKSAllows(t *testing.T) {
	cpu := func(p Pool) func(*Args) { return func(a *Args) { a.Pools[CPUPool] = p } }
	const size = "Standard_D8ds_v6"
	refused(t, map[string]func(*Args){
		"infra.pools.cpu: must exist":                              func(a *Args) { a.Pools = Pools{} },
		"infra.pools.cpu.max: must be between 1 and 254, got 1001": cpu(Pool{VMSize: size, Max: 1001}),
		"infra.pools: the largest sizes of all pools, with the system pool": func(a *Args) {
			a.Pools[CPUPool], a.Pools["big"] = Pool{VMSize: size, Max: 200}, Pool{VMSize: size, Max: 54}
		},
		"infra.pools.cpu.vmSize: must be a size without GPUs":           cpu(Pool{VMSize: "Standard_NC24ads_A100_v4", Max: 1}),
		"infra.pools.cpu.serving: must be false":                        cpu(Pool{VMSize: size, Max: 1, Serving: true}),
		"infra.pools.cpu.min: must be between 0 and 254, got -1":        cpu(Pool{VMSize: size, Min: -1, Max: 1}),
		"infra.pools.cpu.max: must be between min 2 and 254, got 1":     cpu(Pool{VMSize: size, Min: 2, Max: 1, Count: 2}),
		"infra.pools.cpu.count: must be between min 0 and max 2, got 3": cpu(Pool{VMSize: size, Max: 2, Count: 3}),
		"infra.pools.cpu.zones[1]: repeats 2; leave it out":             cpu(Pool{VMSize: size, Max: 1, Zones: Zones{"2", "2"}}),
		"infra.pools.system: is the name of the cluster's own":          func(a *Args) { a.Pools["system"] = a.Pools[CPUPool] },
		`infra.pools.gputrainingpool1: "gputrainingpool1" is no name`:   func(a *Args) { a.Pools["gputrainingpool1"] = a.Pools[CPUPool] },
		`"gpu" would do`: func(a *Args) { a.Pools["1gpu"] = a.Pools[CPUPool] },
	})
}

func TestOperatorsAreAsTheirControllersAllow(t *testing.T) {
	refused(t, map[string]func(*Args){
		"infra.operators.kuberay.mode: must be one of install, preinstalled":       func(a *Args) { a.Operators.KubeRay.Mode = "none" },
		"infra.operators.devicePlugin.mode: must be one of install, preinstalled":  func(a *Args) { a.Operators.DevicePlugin.Mode = "" },
		"infra.operators.gpuMonitoring.mode: must be one of install, preinstalled": func(a *Args) { a.Operators.GPUMonitoring.Mode = "off" },
		"infra.operators.kueue.frameworks[0]: must be one of batch/job":            func(a *Args) { a.Operators.Kueue.Frameworks = []string{"pod"} },
		"infra.operators.kueue.waitForPodsReady: must be at least 1m":              func(a *Args) { a.Operators.Kueue.WaitForPodsReady.Duration = 0 },
		"infra.operators.kueue.requeueLimit: must not be negative":                 func(a *Args) { a.Operators.Kueue.RequeueLimit = -1 },
		"infra.operators.kueue.retainFinished: must not be negative, got -1s":      func(a *Args) { a.Operators.Kueue.RetainFinished.Duration = -1e9 },
	})
}

func TestTenantsKeepApart(t *testing.T) {
	tenants := func(ts ...Tenant) func(*Args) { return func(a *Args) { a.Tenants = ts } }
	long := strings.Repeat("a", 63)
	refused(t, map[string]func(*Args){
		"queues.teams: must leave one tenant":                           tenants(),
		`queues.namespace: "default" belongs to Kubernetes`:             tenants(Tenant{"ray", "default", "queues.namespace"}),
		`queues.namespace: "kube-system" belongs to Kubernetes`:         tenants(Tenant{"ray", "kube-system", "queues.namespace"}),
		`queues.teams.a.namespace: "kube-node-lease" belongs to Kub`:    tenants(Tenant{"a", "kube-node-lease", "queues.teams.a.namespace"}),
		`queues.teams.a.namespace: "kueue-system" belongs to Kueue`:     tenants(Tenant{"a", "kueue-system", "queues.teams.a.namespace"}),
		`queues.teams.a.namespace: "kuberay-system" belongs to KubeRay`: tenants(Tenant{"a", "kuberay-system", "queues.teams.a.namespace"}),
		`queues.teams.a.namespace: "gpu-monitoring" belongs to the GPU`: tenants(Tenant{"a", "gpu-monitoring", "queues.teams.a.namespace"}),
		"has 63 characters, and namespace " + long + " has 63: Azure allows a federated credential 120": func(a *Args) {
			a.ServiceAccount, a.Tenants[0].Namespace = long, long
		},
	})
}

func TestChartsAreToBeFound(t *testing.T) {
	refused(t, map[string]func(*Args){
		`infra.operators.kuberay.chart: must be an oci:// reference or a folder that begins with ./, ../ or /, got "kuberay-operator"`: func(a *Args) {
			a.Operators.KubeRay.Chart = "kuberay-operator"
		},
		`infra.operators.kueue.chart: must be an oci:// reference`:                                                                         func(a *Args) { a.Operators.Kueue.Chart = "oci://kueue" },
		`infra.operators.kueue.chart: must be without a tag or digest, got "oci://a/b:1.2.3"; write oci://a/b, and its version as version`: func(a *Args) { a.Operators.Kueue.Chart = "oci://a/b:1.2.3" },
		`infra.operators.kueue.version: must be a chart's version, for example 0.17.1, got "v0.17.0"; did you mean 0.17.0?`:                func(a *Args) { a.Operators.Kueue.Version = "v0.17.0" },
		`infra.operators.kueue.version: must be a chart's version, for example 0.17.1, got "latest"`:                                       func(a *Args) { a.Operators.Kueue.Version = "latest" },
		"infra.operators.kueue.version: has no effect beside a folder, which is of one version; leave it out":                              func(a *Args) { a.Operators.Kueue.Operator = Operator{ModeInstall, "./kueue", "0.17.0"} },
		"infra.operators.kuberay.chart: has no effect while mode is preinstalled; leave it out":                                            func(a *Args) { a.Operators.KubeRay = Operator{ModePreinstalled, "./charts", ""} },
		"infra.operators.devicePlugin.version: has no effect while mode is preinstalled":                                                   func(a *Args) { a.Operators.DevicePlugin = Operator{ModePreinstalled, "", "1"} },
		"infra.operators.kueue.frameworks: has no effect while mode is preinstalled": func(a *Args) {
			a.Operators.Kueue.Mode, a.Operators.Kueue.Frameworks = ModePreinstalled, []string{"batch/job"}
		},
		"infra.operators.kueue.frameworks[1]: repeats batch/job; leave it out": func(a *Args) { a.Operators.Kueue.Frameworks = []string{"batch/job", "batch/job"} },
	})
	for _, chart := range []string{"./charts/kueue", "../kueue", "/srv/kueue", "oci://mcr.microsoft.com/oss/kueue", "oci://localhost:5000/kueue"} {
		args := valid()
		args.Operators.Kueue.Chart = chart
		if err := args.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestAllowReplaceNamesWhatIsProtected(t *testing.T) {
	allow := func(names ...string) func(*Args) { return func(a *Args) { a.AllowReplace = names } }
	refused(t, map[string]func(*Args){
		`infra.allowReplace[0]: "Cluster" names nothing that is protected; did you mean cluster?`: allow("Cluster"),
		`infra.allowReplace[1]: "pools.gpu" names nothing`:                                        allow("storage", "pools.gpu"),
		`did you mean pools.cpu?`: allow("pools.cqu"),
		`infra.allowReplace[0]: "cpu" names nothing that is protected; did you mean pools.cpu?`:          allow("cpu"),
		`infra.allowReplace[2]: repeats storage; leave it out`:                                           allow("storage", "cluster", "storage"),
		`infra.allowReplace[1]: "Cluster" names nothing that is protected; known are pools.cpu, storage`: allow("cluster", "Cluster"),
	})
}

func TestSizesAreDeclaredWhole(t *testing.T) {
	declare := func(name string, s Size) func(*Args) { return func(a *Args) { a.SKUs = map[string]Size{name: s} } }
	with := func(change func(*Size)) func(*Args) {
		s := h100
		change(&s)
		return declare("Standard_H", s)
	}
	refused(t, map[string]func(*Args){
		"did you mean Standard_D8ds_v6?; another is declared":               func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8sd_v6", Max: 1} },
		"infra.skus.<name>: {vcpus, memoryGiB":                              func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "big", Max: 1} },
		"infra.skus.big: is no name of a VM size":                           declare("big", h100),
		"infra.skus.Standard_D8ds_v6: is known with other numbers (8 vCPUs": declare("Standard_D8ds_v6", h100),
		"infra.skus.standard_h: is the same size as infra.skus.Standard_H": func(a *Args) {
			a.SKUs = map[string]Size{"Standard_H": h100, "standard_h": h100}
		},
		"infra.skus.Standard_H.vcpus: must be between 2 and 2048, got 1":          with(func(s *Size) { s.VCPUs = 1 }),
		"infra.skus.Standard_H.memoryGiB: must be between 1 and 65536, got 81920": with(func(s *Size) { s.MemoryGiB = 81920 }),
		"infra.skus.Standard_H.nvmeGiB: must be between 0":                        with(func(s *Size) { s.NVMeGiB = -1 }),
		"infra.skus.Standard_H.gpus: must be between 0 and 64, got -1":            with(func(s *Size) { s.GPUs = -1 }),
		"infra.skus.Standard_H.gpuMemoryGiB: must be the memory of one GPU":       with(func(s *Size) { s.GPUMemoryGiB = 0 }),
		"infra.skus.Standard_H.quotaFamily: must name":                            with(func(s *Size) { s.QuotaFamily = "" }),
		"infra.skus.Standard_H: is too small":                                     with(func(s *Size) { s.MemoryGiB = 2 }),
	})
}
