package infra

import (
	"fmt"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// valid returns arguments that pass every check.
func valid() Args {
	return Args{
		Name: "ray-test", Namespace: "ray", ServiceAccount: "ray-workload",
		Location: "eastus2", SubscriptionID: "00000000-0000-0000-0000-000000000000",
		Versions: Versions{Kubernetes: []string{"1.34", "1.35"}, Kueue: Chart{"oci://kueue", "0.17.1"}, KubeRay: Chart{"oci://kuberay", "1.6.1"}},
		Cluster: Cluster{
			KubernetesVersion: "1.35", Tier: "Standard", Login: LoginAzureCLI,
			System: SystemPool{VMSize: "Standard_D4ds_v6", Count: 2},
		},
		Pools:   Pools{CPUPool: {VMSize: "Standard_D8ds_v6", Max: 2}},
		Storage: Storage{AccountPrefix: "ray", SKU: "Standard_LRS", Container: "models"},
		Operators: Operators{
			KubeRay: Operator{Mode: ModeInstall},
			Kueue:   Kueue{Operator: Operator{Mode: ModeInstall}, WaitForPodsReady: metav1.Duration{Duration: 1800e9}, RequeueLimit: 5},
		},
	}
}

func TestValidate(t *testing.T) {
	if err := valid().Validate(); err != nil {
		t.Fatalf("valid arguments are refused: %v", err)
	}
	for words, change := range map[string]func(*Args){
		"azure-native:location: must name":                                    func(a *Args) { a.Location = "" },
		"azure-native:subscriptionId: must be a subscription's UUID":          func(a *Args) { a.SubscriptionID = "mine" },
		"infra.name: \"rg-ray.\" is no name":                                  func(a *Args) { a.Name = "ray." },
		"infra.name: \"" + strings.Repeat("a", 55):                            func(a *Args) { a.Name = strings.Repeat("a", 55) },
		"infra.namespace: \"Ray\" is no Kubernetes name":                      func(a *Args) { a.Namespace = "Ray" },
		`infra.namespace: "default" belongs to Kubernetes`:                    func(a *Args) { a.Namespace = "default" },
		`infra.namespace: "kube-system" belongs to Kubernetes`:                func(a *Args) { a.Namespace = "kube-system" },
		`infra.namespace: "kube-public" belongs to Kubernetes`:                func(a *Args) { a.Namespace = "kube-public" },
		`infra.namespace: "kube-node-lease" belongs to Kubernetes`:            func(a *Args) { a.Namespace = "kube-node-lease" },
		`infra.namespace: "kueue-system" belongs to Kueue`:                    func(a *Args) { a.Namespace = "kueue-system" },
		`infra.namespace: "kuberay-system" belongs to KubeRay`:                func(a *Args) { a.Namespace = "kuberay-system" },
		"infra.cluster.kubernetesVersion: must be like":                       func(a *Args) { a.Cluster.KubernetesVersion = "latest" },
		`of 1.34, 1.35, got "1.99": `:                                         func(a *Args) { a.Cluster.KubernetesVersion = "1.99" },
		`of 1.34, 1.35, got "1.33.4": `:                                       func(a *Args) { a.Cluster.KubernetesVersion = "1.33.4" },
		`of 1.34, 1.35, got "1.9": `:                                          func(a *Args) { a.Cluster.KubernetesVersion = "1.9" },
		"infra.cluster.tier: must be one of":                                  func(a *Args) { a.Cluster.Tier = "standard" },
		"infra.cluster.login: must be one of azurecli, workloadidentity":      func(a *Args) { a.Cluster.Login = "devicecode" },
		"infra.cluster.adminGroups: has no effect":                            func(a *Args) { a.Cluster.AdminGroups = []string{"x"} },
		"infra.cluster.adminGroups[0]: must be the object id":                 func(a *Args) { a.Cluster.AdminGroups = []string{"x"} },
		"infra.cluster.system.vmSize: unknown VM size":                        func(a *Args) { a.Cluster.System.VMSize = "big" },
		"infra.cluster.system.count: must be between 1 and 1000, got 0":       func(a *Args) { a.Cluster.System.Count = 0 },
		"infra.cluster.system.count: must be between 1 and 1000, got 1001":    func(a *Args) { a.Cluster.System.Count = 1001 },
		"infra.pools.cpu.max: must be between max(1, min) and 1000, got 1001": func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Max: 1001} },
		"infra.pools.cpu: must exist":                                         func(a *Args) { a.Pools = Pools{} },
		"infra.pools.system: is the name of the cluster's own":                func(a *Args) { a.Pools["system"] = a.Pools[CPUPool] },
		`infra.pools.gputrainingpool1: "gputrainingpool1" is no name`:         func(a *Args) { a.Pools["gputrainingpool1"] = a.Pools[CPUPool] },
		`"gpu" would do`: func(a *Args) { a.Pools["1gpu"] = a.Pools[CPUPool] },
		"infra.pools.cpu.vmSize: Standard_NC24ads_A100_v4 has GPUs":           func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_NC24ads_A100_v4", Max: 1} },
		"infra.pools.cpu.min: must not be negative":                           func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Min: -1, Max: 1} },
		"infra.pools.cpu.max: must be between":                                func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Min: 2, Max: 1, Count: 2} },
		"infra.pools.cpu.count: must be between min 0 and max 2, got 3":       func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Max: 2, Count: 3} },
		"infra.storage.accountPrefix: \"My-Data\" is no name":                 func(a *Args) { a.Storage.AccountPrefix = "My-Data" },
		"infra.storage.container: \"a--b\" is no name":                        func(a *Args) { a.Storage.Container = "a--b" },
		"infra.storage.sku: must be one of":                                   func(a *Args) { a.Storage.SKU = "Premium_LRS" },
		"infra.cluster.system.zones[0]: must be one of 1, 2, 3, got \"a\"":    func(a *Args) { a.Cluster.System.Zones = Zones{"a"} },
		"infra.pools.cpu.zones[1]: repeats zone 2":                            func(a *Args) { a.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Max: 1, Zones: Zones{"2", "2"}} },
		"infra.operators.kuberay.mode: must be one of install, preinstalled":  func(a *Args) { a.Operators.KubeRay.Mode = "none" },
		"infra.operators.kueue.frameworks[0]: must be one of batch/job":       func(a *Args) { a.Operators.Kueue.Frameworks = []string{"pod"} },
		"infra.operators.kueue.waitForPodsReady: must be at least 1m":         func(a *Args) { a.Operators.Kueue.WaitForPodsReady.Duration = 0 },
		"infra.operators.kueue.requeueLimit: must not be negative":            func(a *Args) { a.Operators.Kueue.RequeueLimit = -1 },
		"infra.operators.kueue.retainFinished: must not be negative, got -1s": func(a *Args) { a.Operators.Kueue.RetainFinished.Duration = -1e9 },
	} {
		args := valid()
		change(&args)
		if err := args.Validate(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got: %v", words, err)
		}
	}
}

// run registers the component as a program would.
func run(t *testing.T, args Args) stacktest.Recording {
	t.Helper()
	return stacktest.Run(t, func(ctx *pulumi.Context) error {
		_, err := New(ctx, "infra", args)
		return err
	}, stacktest.Options{Stack: "test"})
}

func TestPoolsBelongToTheAutoscaler(t *testing.T) {
	pool := run(t, valid()).One(t, ":AgentPool")
	if len(pool.IgnoreChanges) != 1 || pool.IgnoreChanges[0] != "count" {
		t.Errorf("ignores %v", pool.IgnoreChanges)
	}
	if pool.Inputs["agentPoolName"].StringValue() != CPUPool || !pool.Inputs["enableAutoScaling"].BoolValue() {
		t.Errorf("inputs %v", pool.Inputs)
	}
}

func TestZones(t *testing.T) {
	r := run(t, valid())
	system := func(r stacktest.Recording) resource.PropertyMap {
		return r.One(t, ":ManagedCluster").Inputs["agentPoolProfiles"].ArrayValue()[0].ObjectValue()
	}
	if system(r).HasValue("availabilityZones") || r.One(t, ":AgentPool").Inputs.HasValue("availabilityZones") {
		t.Error("without zones, none are asked for")
	}
	args := valid()
	args.Cluster.System.Zones = Zones{"3", "1"}
	args.Pools[CPUPool] = Pool{VMSize: "Standard_D8ds_v6", Max: 2, Zones: Zones{"2", "1", "3"}}
	r = run(t, args)
	for want, got := range map[string]resource.PropertyMap{"[1 3]": system(r), "[1 2 3]": r.One(t, ":AgentPool").Inputs} {
		if zones := fmt.Sprint(got["availabilityZones"].Mappable()); zones != want {
			t.Errorf("zones %s, want %s", zones, want)
		}
	}
}

func TestClusterInputs(t *testing.T) {
	args := valid()
	args.Cluster.DisableLocalAccounts = true
	r := run(t, args)
	stacktest.Golden(t, "cluster", r.One(t, ":ManagedCluster").Inputs.Mappable())
	stacktest.Golden(t, "storage", r.One(t, ":StorageAccount").Inputs.Mappable())
}

func TestIdentityIsKnownAtPreviewAndLimited(t *testing.T) {
	r := run(t, valid())
	assignment := r.One(t, ":RoleAssignment").Inputs
	if _, err := uuid.Parse(assignment["roleAssignmentName"].StringValue()); err != nil {
		t.Errorf("name %v: %v", assignment["roleAssignmentName"], err)
	}
	if got := assignment["principalType"].StringValue(); got != "ServicePrincipal" {
		t.Errorf("principal type %q", got)
	}
	if got := assignment["scope"].StringValue(); got != "infra-storage-id" {
		t.Errorf("the role reaches %q, not just the account", got)
	}
	credential := r.One(t, ":FederatedIdentityCredential").Inputs
	if got := credential["subject"].StringValue(); got != "system:serviceaccount:ray:ray-workload" {
		t.Errorf("subject %q", got)
	}
	if got := credential["issuer"].StringValue(); got != stacktest.IssuerURL {
		t.Errorf("issuer %q", got)
	}
}

func TestAssignmentNameFollowsWhatItSays(t *testing.T) {
	a, b := valid(), valid()
	b.Tags = map[string]string{"x": "y"}
	if a.assignmentName("r") != b.assignmentName("r") {
		t.Error("a tag renames the assignment")
	}
	b.Name = "other"
	if a.assignmentName("r") == b.assignmentName("r") || a.assignmentName("r") == a.assignmentName("s") {
		t.Error("another identity or role has the same name")
	}
}

func TestServiceAccountNamesTheIdentity(t *testing.T) {
	metadata := run(t, valid()).One(t, ":ServiceAccount").Inputs["metadata"].ObjectValue()
	got := metadata["annotations"].ObjectValue()[resource.PropertyKey("azure.workload.identity/client-id")].StringValue()
	if got != stacktest.ClientID {
		t.Errorf("client id %q", got)
	}
}

func TestProviderIsNeverReplacedByCredentials(t *testing.T) {
	p := run(t, valid()).One(t, "pulumi:providers:kubernetes")
	want := "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-ray-test/providers/Microsoft.ContainerService/managedClusters/aks-ray-test"
	if got := p.Inputs["clusterIdentifier"].StringValue(); got != want {
		t.Errorf("identifier %q", got)
	}
}

func TestOperators(t *testing.T) {
	args := valid()
	args.Operators.KubeRay = Operator{Mode: ModePreinstalled}
	args.Operators.Kueue.Operator = Operator{Mode: ModeInstall, Chart: "./charts/kueue"}
	release := run(t, args).One(t, releaseToken)
	if release.Inputs["chart"].StringValue() != "./charts/kueue" || release.Inputs.HasValue("version") {
		t.Errorf("release %v", release.Inputs)
	}
	for _, tc := range []struct {
		in   Operator
		want Chart
	}{
		{Operator{}, Chart{"oci://x", "1"}},
		{Operator{Version: "2"}, Chart{"oci://x", "2"}},
		{Operator{Chart: "oci://y"}, Chart{"oci://y", "1"}},
		{Operator{Chart: "/y"}, Chart{"/y", ""}},
	} {
		if got := tc.in.or(Chart{"oci://x", "1"}); got != tc.want {
			t.Errorf("%+v: %+v, want %+v", tc.in, got, tc.want)
		}
	}
}

func TestKubeRayComesFirst(t *testing.T) {
	kueue := run(t, valid()).Named(t, "infra-kueue")
	if !strings.Contains(strings.Join(kueue.Dependencies, " "), "::infra-kuberay") {
		t.Errorf("Kueue comes after %v", kueue.Dependencies)
	}
}

func TestKubeconfigLogsInWithoutABrowser(t *testing.T) {
	entra := `{apiVersion: v1, kind: Config, users: [{name: u, user: {exec: {command: kubelogin, args: [get-token, --login, devicecode, --server-id, s]}}}]}`
	got, err := withLogin(entra, LoginWorkloadIdentity)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "- workloadidentity") || strings.Contains(got, "devicecode") || !strings.Contains(got, "--server-id") {
		t.Errorf("got %s", got)
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(got), &config); err != nil {
		t.Errorf("no YAML any more: %v", err)
	}
	local := "users:\n- name: u\n  user: {token: t}\n"
	if got, err := withLogin(local, LoginAzureCLI); err != nil || got != local {
		t.Errorf("a kubeconfig without a plugin was changed: %q, %v", got, err)
	}
}
