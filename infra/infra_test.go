package infra

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// valid returns arguments that pass every check.
func valid() Args {
	return Args{
		Name: "ray-test", ServiceAccount: "ray-workload", Tenants: []Tenant{{Name: "ray", Namespace: "ray"}},
		Charts:   ".charts",
		Location: "eastus2", SubscriptionID: "00000000-0000-0000-0000-000000000000",
		Versions: Versions{
			Kubernetes: []string{"1.34", "1.35"},
			Kueue:      Chart{Location: "oci://kueue", Version: "0.17.1"}, KubeRay: Chart{Location: "oci://kuberay", Version: "1.6.1"},
			DevicePlugin:  Chart{Location: "plugin", Version: "0.17.0", Repository: "https://plugins.example"},
			GPUMonitoring: Chart{Location: "oci://monitoring", Version: "0.1.1"},
		},
		Cluster: Cluster{
			KubernetesVersion: "1.35", Tier: "Standard", Login: LoginAzureCLI,
			System: SystemPool{VMSize: "Standard_D4ds_v6", Count: 2},
		},
		Pools:   Pools{CPUPool: {VMSize: "Standard_D8ds_v6", Max: 2}},
		Storage: Storage{AccountPrefix: "ray", SKU: "Standard_LRS", Containers: []string{"aurora", "models"}},
		Operators: Operators{
			KubeRay: Operator{Mode: ModeInstall}, DevicePlugin: Operator{Mode: ModeInstall}, GPUMonitoring: Operator{Mode: ModeInstall},
			Kueue: Kueue{Operator: Operator{Mode: ModeInstall}, WaitForPodsReady: metav1.Duration{Duration: 1800e9}, RequeueLimit: 5},
		},
	}
}

// large returns arguments with two tenants, and GPU pools for queues and for services.
func large() Args {
	a := valid()
	a.Tenants = []Tenant{{Name: "vision", Namespace: "ray-vision"}, {Name: "language", Namespace: "ray-language"}}
	a.Pools["gpu"] = Pool{VMSize: "Standard_ND96amsr_A100_v4", Max: 2}
	a.Pools["serve"] = Pool{VMSize: "Standard_NC24ads_A100_v4", Max: 1, Serving: true}
	return a
}

// run registers the component as a program would.
func run(t *testing.T, args Args) stacktest.Recording {
	t.Helper()
	return stacktest.Run(t, func(ctx *pulumi.Context) error {
		_, err := New(ctx, "infra", args)
		return err
	}, stacktest.Options{Stack: "test"})
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

func TestPoolsBelongToTheAutoscaler(t *testing.T) {
	r := run(t, large())
	for _, name := range []string{"cpu", "gpu", "serve"} {
		pool := r.Named(t, "infra-pool-"+name)
		if !slices.Equal(pool.IgnoreChanges, []string{"count"}) {
			t.Errorf("%s ignores %v", name, pool.IgnoreChanges)
		}
		if pool.Inputs["agentPoolName"].StringValue() != name || !pool.Inputs["enableAutoScaling"].BoolValue() || pool.Inputs["minCount"].NumberValue() != 0 {
			t.Errorf("inputs %v", pool.Inputs)
		}
	}
}

// TestPoolsGoWithTheirCluster: to destroy a stack is to delete the cluster, and not its nodes one after the other.
func TestPoolsGoWithTheirCluster(t *testing.T) {
	for _, pool := range run(t, large()).OfType(":AgentPool") {
		if !strings.HasSuffix(pool.DeletedWith, ":ManagedCluster::infra-cluster") || pool.Inputs["mode"].StringValue() != "User" {
			t.Errorf("%s is deleted with %q, in mode %v", pool.Name, pool.DeletedWith, pool.Inputs["mode"])
		}
	}
}

func TestOnlyPodsWithGPUsComeToGPUPools(t *testing.T) {
	args := large()
	args.SKUs = map[string]Size{"Standard_NC40ads_H100_v5": h100}
	args.Pools["h100"] = Pool{VMSize: "standard_nc40ads_h100_v5", Max: 1}
	r := run(t, args)
	for _, name := range []string{"gpu", "serve", "h100"} {
		if got := fmt.Sprint(r.Named(t, "infra-pool-"+name).Inputs["nodeTaints"].Mappable()); got != "[nvidia.com/gpu=present:NoSchedule]" {
			t.Errorf("%s has the taints %s", name, got)
		}
	}
	if cpu := r.Named(t, "infra-pool-cpu").Inputs; cpu.HasValue("nodeTaints") {
		t.Errorf("the cpu pool has the taints %v", cpu["nodeTaints"])
	}
}

func TestGPUPoolInputs(t *testing.T) {
	stacktest.Golden(t, "gpupool", run(t, large()).Named(t, "infra-pool-gpu").Inputs.Mappable())
}

func TestOutputs(t *testing.T) {
	var c *Infra
	stacktest.Run(t, func(ctx *pulumi.Context) (err error) {
		c, err = New(ctx, "infra", large())
		return err
	}, stacktest.Options{Stack: "test"})
	for want, output := range map[string]pulumi.Input{
		stacktest.IssuerURL: c.OIDCIssuerURL, stacktest.TenantID: c.TenantID, "rg-ray-test": c.ResourceGroup, "ray" + stacktest.Suffix: c.StorageAccount,
	} {
		if got, _ := stacktest.Resolve(t, output); got != want {
			t.Errorf("output %v, want %s", got, want)
		}
	}
	if len(c.ClientIDs) != 2 {
		t.Fatalf("client ids %v", c.ClientIDs)
	}
	for tenant, output := range c.ClientIDs {
		if got, _ := stacktest.Resolve(t, output); got != stacktest.ClientID("id-ray-test-"+tenant) {
			t.Errorf("%s has the client id %v", tenant, got)
		}
	}
}

func TestProviderIsNeverReplacedByCredentials(t *testing.T) {
	p := run(t, valid()).One(t, "pulumi:providers:kubernetes")
	want := "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-ray-test/providers/Microsoft.ContainerService/managedClusters/aks-ray-test"
	if got := p.Inputs["clusterIdentifier"].StringValue(); got != want {
		t.Errorf("identifier %q", got)
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
