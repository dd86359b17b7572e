package queues

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/crd/crdtest"
	"ray-on-aks/internal/stacktest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

var (
	cpuPool = Pool{Name: "cpu", Nodes: 2, Node: sku.Resources{MilliCPU: 7320, MemoryMiB: 29610}}
	gpuPool = Pool{
		Name: "a100", Nodes: 1, Node: sku.Resources{MilliCPU: 94440, MemoryMiB: 1_884_826, GPUs: 8},
		Taints: []corev1.Taint{{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}},
	}
)

func args(pools ...Pool) Args {
	return Args{
		Shape: ShapeSingle, ClusterQueue: "ray", Cohort: "ray", LocalQueue: "ray-jobs", Namespace: "ray", Pools: pools,
		Priorities: map[string]int32{"low": 100, "normal": 500, "high": 1000},
	}
}

// withTeams declares teams as a stack file does.
func withTeams(t *testing.T, a Args, teams string) Args {
	t.Helper()
	if err := json.Unmarshal([]byte(teams), &a.Teams); err != nil {
		t.Fatal(err)
	}
	return a
}

// everything is two teams that use every field.
func everything(t *testing.T, shape Shape) Args {
	a := withTeams(t, args(gpuPool, cpuPool), `{
		"vision": {"borrowingLimit": {"a100": {"gpus": 2}}},
		"weather": {"share": 3, "namespace": "forecast", "lendingLimit": {"a100": {"gpus": 7, "cpu": 1}}}}`)
	a.Shape = shape
	return a
}

func q(t *testing.T, cpu, memory string, gpus int64) Quota {
	t.Helper()
	var out Quota
	for text, target := range map[string]**resource.Quantity{cpu: &out.CPU, memory: &out.Memory} {
		if text != "" {
			*target = ptr.To(resource.MustParse(text))
		}
	}
	if gpus >= 0 {
		out.GPUs = &gpus
	}
	return out
}

// objects are all that the arguments render to, by a name for their golden file.
func objects(a Args) map[string]crd.Object {
	all := map[string]crd.Object{}
	for _, p := range a.Ordered() {
		all["flavor-"+p.Name] = resourceFlavor(p)
	}
	for _, queue := range a.queues() {
		all["clusterqueue-"+queue.name] = clusterQueue(a, queue)
	}
	for _, tenant := range a.Tenants() {
		all["localqueue-"+tenant.Name] = localQueue(tenant)
	}
	return all
}

func TestGolden(t *testing.T) {
	cases := map[string]Args{"single": args(gpuPool, cpuPool), "cpu": args(cpuPool)}
	cases["teams"], cases["teams-single"] = everything(t, ShapeTeams), everything(t, ShapeSingle)
	for name, a := range cases {
		rendered := map[string]any{}
		for key, o := range objects(a) {
			fields, err := crd.Fields(o.Spec)
			if err != nil {
				t.Fatal(err)
			}
			rendered[key] = fields
		}
		stacktest.Golden(t, name, rendered)
	}
}

// TestAPIServerTakesEverything checks each object against the CRD of the pinned Kueue.
func TestAPIServerTakesEverything(t *testing.T) {
	for _, a := range []Args{args(cpuPool), everything(t, ShapeTeams), everything(t, ShapeSingle)} {
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		for name, o := range objects(a) {
			spec, err := crd.Fields(o.Spec)
			if err != nil {
				t.Fatal(err)
			}
			if err := crdtest.Check(map[string]any{
				"apiVersion": o.GVK.GroupVersion().String(), "kind": o.GVK.Kind,
				"metadata": map[string]any{"name": o.Meta.Name, "namespace": o.Meta.Namespace}, "spec": spec,
			}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestPriorityClassIsTaken(t *testing.T) {
	fields := priorityClass("low", 100).Fields
	fields["apiVersion"], fields["kind"] = "kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"
	fields["metadata"] = map[string]any{"name": "low"}
	if err := crdtest.Check(fields); err != nil {
		t.Error(err)
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
	if _, ok := fields["nodeTaints"]; !ok {
		t.Error("Kueue would put heads and submitters on GPU nodes")
	}
}

func TestCPUFlavorComesFirst(t *testing.T) {
	small := gpuPool
	small.Name, small.Node.GPUs = "aaa", 1
	var names []string
	for _, p := range args(gpuPool, small, cpuPool).Ordered() {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"cpu", "a100", "aaa"}) {
		t.Errorf("order %v", names)
	}
}

func TestTenants(t *testing.T) {
	teams := `{"b": {}, "a": {"namespace": "x"}}`
	inTeams := withTeams(t, args(cpuPool), teams)
	inTeams.Shape = ShapeTeams
	for name, c := range map[string]struct {
		args Args
		want []Tenant
	}{
		"no teams": {args(cpuPool), []Tenant{{"ray", "ray", "ray", "ray-jobs"}}},
		"single":   {withTeams(t, args(cpuPool), teams), []Tenant{{"a", "x", "ray", "ray-jobs"}, {"b", "ray-b", "ray", "ray-jobs"}}},
		"teams":    {inTeams, []Tenant{{"a", "x", "a", "ray-jobs"}, {"b", "ray-b", "b", "ray-jobs"}}},
	} {
		if got := c.args.Tenants(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestShapeMovesOnlyQuota shows that a switch deletes nothing: both shapes have the same ClusterQueues, and those without tenants have
// no quota.
func TestShapeMovesOnlyQuota(t *testing.T) {
	for _, shape := range []Shape{ShapeSingle, ShapeTeams} {
		a := everything(t, shape)
		var names []string
		for _, queue := range a.queues() {
			names = append(names, queue.name)
			for _, p := range a.Pools {
				for _, r := range flavorQuotas(a, queue, p, []corev1.ResourceName{corev1.ResourceCPU, aks.ResourceGPU}).Resources {
					if len(queue.tenants) == 0 && !r.NominalQuota.IsZero() {
						t.Errorf("%s: %s has %s %s", shape, queue.name, r.NominalQuota.String(), r.Name)
					}
				}
			}
		}
		if !slices.Equal(names, []string{"ray", "vision", "weather"}) {
			t.Errorf("%s: queues %v", shape, names)
		}
	}
}

func TestTeamOfTheQueuesNameSharesItsObject(t *testing.T) {
	a := withTeams(t, args(cpuPool), `{"ray": {}, "other": {}}`)
	a.Shape = ShapeTeams
	list := a.queues()
	if len(list) != 2 || list[1].name != "ray" || len(list[1].tenants) != 1 || list[1].tenants[0].Name != "ray" {
		t.Errorf("queues %+v", list)
	}
}

func TestTeamsMerge(t *testing.T) {
	teams := Teams{"a": {Share: 2, Namespace: "x"}}
	if err := json.Unmarshal([]byte(`{"a": {"share": 5}, "b": {}}`), &teams); err != nil {
		t.Fatal(err)
	}
	if teams["a"].Share != 5 || teams["a"].Namespace != "x" || teams["b"].Share != 1 {
		t.Errorf("%+v", teams)
	}
	if err := json.Unmarshal([]byte(`{"a": {"share": "x"}}`), &teams); err == nil || !strings.Contains(err.Error(), "a: ") {
		t.Errorf("the error does not name the team: %v", err)
	}
}
