package workloads

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// node returns what workloads can have of one node of a size.
func node(size string) sku.Resources {
	s, err := sku.Lookup(size)
	if err != nil {
		panic(err)
	}
	return s.Allocatable()
}

// stack returns the arguments of a stack with four 8-core nodes, one of 8 GPUs, and one of 1 GPU for services, that runs the given
// workloads, those of no team as team a's. Of its two teams, b may have no GPU.
func stack(declared Declared) Args {
	declared = maps.Clone(declared)
	for name, w := range declared {
		if w.Team == "" {
			w.Team = "a"
			declared[name] = w
		}
	}
	cpu := Flavor{Name: "cpu", Node: node("Standard_D8ds_v6"), Limit: node("Standard_D8ds_v6").Times(4)}
	gpu := Flavor{Name: "gpu", Node: node("Standard_ND96amsr_A100_v4"), Limit: node("Standard_ND96amsr_A100_v4"), Tainted: true}
	return Args{Declared: declared, Platform: Platform{
		ServiceAccount: "ray-workload", CPUPool: "cpu",
		Tenants: []Tenant{
			{Name: "a", Namespace: "ray-a", Queue: Queue{Name: "ray-jobs", Flavors: []Flavor{cpu, gpu}}},
			{Name: "b", Namespace: "ray-b", Queue: Queue{Name: "ray-jobs", Flavors: []Flavor{cpu}}},
		},
		Pools: []Pool{
			{Name: "cpu", Nodes: 4, Node: cpu.Node},
			{Name: "gpu", Nodes: 1, Node: gpu.Node, Tainted: true},
			{Name: "serve", Nodes: 1, Node: node("Standard_NC24ads_A100_v4"), Serving: true, Tainted: true},
		},
		Sizes:      sku.All(),
		Containers: []string{"aurora", "llm-pipeline", "models"},
		Priorities: []string{"high", "low", "normal"},
		Versions:   Versions{Ray: "2.55.1", Image: "example/ray:2.55.1"},
	}}
}

// entry returns an entry of the catalog, enabled and changed.
func entry(name string, changes ...func(*Workload)) Declared {
	w := Catalog()[name]
	w.Enabled = true
	for _, change := range changes {
		change(&w)
	}
	return Declared{name: w}
}

// job returns smoke, enabled and changed.
func job(changes ...func(*Workload)) Declared { return entry("smoke", changes...) }

// service returns online-serving, enabled and changed.
func service(changes ...func(*Workload)) Declared { return entry("online-serving", changes...) }

// running returns a job with an entrypoint of its own.
func running(entrypoint string) Workload {
	w := Defaults()
	w.Entrypoint = entrypoint
	return w
}

func TestCatalogFits(t *testing.T) {
	declared := Catalog()
	for name, w := range declared {
		w.Enabled = true
		declared[name] = w
	}
	a := stack(declared)
	// Two services.
	a.Pools[2].Nodes = 2
	if err := a.Validate(); err != nil {
		t.Error(err)
	}
}

// TestTheCatalogFitsWhereItSays holds the sentences of catalog.go.
func TestTheCatalogFitsWhereItSays(t *testing.T) {
	tuning, eight := workerPods("gpt2-tuning", gpt2Tuning()), podSet{count: 8, each: gpuWorker().resources()}
	if tuning.count != 2 {
		t.Errorf("gpt2-tuning has %d workers", tuning.count)
	}
	for _, tc := range []struct {
		pods  podSet
		size  string
		nodes int
		fits  bool
	}{
		{tuning, "Standard_D4ds_v6", 2, true},
		{tuning, "Standard_D4ds_v6", 1, false},
		{tuning, "Standard_D8ds_v6", 1, true},
		{eight, "Standard_ND96amsr_A100_v4", 1, true},
		{eight, "Standard_NC96ads_A100_v4", 2, true},
		{eight, "Standard_NC24ads_A100_v4", 8, true},
	} {
		if got := packs(podsOf([]podSet{tc.pods}), Pool{Nodes: tc.nodes, Node: node(tc.size)}); got != tc.fits {
			t.Errorf("%d of %+v fit %d nodes of %s: %t", tc.pods.count, tc.pods.each, tc.nodes, tc.size, got)
		}
	}
	if n := node("Standard_ND96amsr_A100_v4"); n.MilliCPU/1000 != 94 || fmt.Sprintf("%.1f", float64(n.MemoryMiB)/8/1024) != "228.9" {
		t.Errorf("a node with eight GPUs has %+v", n)
	}
	if n := node("Standard_NC24ads_A100_v4"); fmt.Sprintf("%.1f", float64(n.MemoryMiB)/1024) != "210.0" {
		t.Errorf("a node with one GPU has %+v", n)
	}
}

func TestCatalogRunsNothing(t *testing.T) {
	r := register(t, stack(Catalog()))
	if n := len(r.OfType(":RayJob")) + len(r.OfType(":RayService")); n != 0 {
		t.Errorf("%d disabled workloads run", n)
	}
}

func TestANewRunIsACreate(t *testing.T) {
	first := register(t, stack(job()))
	second := register(t, stack(job(func(w *Workload) { w.Generation = 1 })))
	a, b := first.One(t, ":RayJob"), second.One(t, ":RayJob")
	if a.Name == b.Name || objectName(a) == objectName(b) {
		t.Errorf("a new generation keeps the name %s", a.Name)
	}
	if !strings.HasSuffix(a.Name, objectName(a)) {
		t.Errorf("logical name %s, object %s", a.Name, objectName(a))
	}
	if first.One(t, ":ConfigMap").Name != second.One(t, ":ConfigMap").Name {
		t.Error("the same scripts got another name")
	}
}

func TestRunsAreImmutable(t *testing.T) {
	if got := register(t, stack(job())).One(t, ":RayJob").IgnoreChanges; !slices.Equal(got, []string{"spec"}) {
		t.Errorf("ignored changes: %v", got)
	}
	if got := register(t, stack(service())).One(t, ":RayService").IgnoreChanges; len(got) != 0 {
		t.Errorf("changes of a service are ignored: %v", got)
	}
}

func TestKeepRetains(t *testing.T) {
	r := register(t, stack(job(func(w *Workload) { w.Keep = true })))
	if !r.One(t, ":RayJob").RetainOnDelete || !r.One(t, ":ConfigMap").RetainOnDelete {
		t.Error("a kept run would be deleted")
	}
	if register(t, stack(job())).One(t, ":RayJob").RetainOnDelete {
		t.Error("every run is kept")
	}
}

func TestLongestNamesFit(t *testing.T) {
	w := smoke()
	w.Enabled = true
	w.PreRunningDeadline.Duration = time.Hour
	name := strings.Repeat("a", maxBaseName)
	if got := objectName(register(t, stack(Declared{name: w})).One(t, ":RayJob")); len(got) != maxName {
		t.Errorf("%s has %d characters", got, len(got))
	}
	name = strings.Repeat("a", maxName)
	declared := Declared{name: service()["online-serving"]}
	if got := objectName(register(t, stack(declared)).One(t, ":RayService")); got != name {
		t.Errorf("%s is served as %s", name, got)
	}
}

func TestScriptsAreMountedWhereTheyWere(t *testing.T) {
	a := stack(entry("llm-training"))
	runs, err := a.Runs()
	if err != nil {
		t.Fatal(err)
	}
	data := register(t, a).One(t, ":ConfigMap").Inputs["data"].ObjectValue()
	paths := map[string]string{}
	for _, item := range scriptsVolume(runs[0]).ConfigMap.Items {
		text := data[resource.PropertyKey(item.Key)]
		if !text.IsString() {
			t.Errorf("the ConfigMap has no key %s", item.Key)
			continue
		}
		paths[item.Path] = text.StringValue()
	}
	for file, text := range runs[0].scripts {
		if paths[file] != text {
			t.Errorf("%s is not mounted as it is", file)
		}
	}
	if _, ok := paths["raylib/__init__.py"]; !ok || paths["llm_finetune.py"] == "" || len(paths) != len(data) {
		t.Errorf("mounted: %d of %d files", len(paths), len(data))
	}
}

func TestServicesHaveATokenOfTheirOwn(t *testing.T) {
	a := stack(service())
	var tokens pulumi.StringMap
	r := stacktest.Run(t, func(ctx *pulumi.Context) error {
		c, err := New(ctx, "workloads", a)
		if err == nil {
			tokens = c.Tokens
		}
		return err
	}, stacktest.Options{Stack: "test"})
	password, secret, object := r.One(t, ":RandomPassword"), r.One(t, ":Secret"), r.One(t, ":RayService")
	if password.Inputs["length"].NumberValue() < 32 || password.Inputs["special"].BoolValue() {
		t.Errorf("the token is made of %v", password.Inputs)
	}
	if got := objectName(secret); got != "online-serving-token" {
		t.Errorf("the Secret is %s", got)
	}
	if !slices.ContainsFunc(object.Dependencies, func(urn string) bool { return strings.HasSuffix(urn, secret.URN()) }) {
		t.Errorf("the service does not wait for its token, only for %v", object.Dependencies)
	}
	if len(tokens) != 1 || tokens["online-serving"] == nil {
		t.Errorf("tokens: %v", tokens)
	}
}

func register(t *testing.T, a Args) stacktest.Recording {
	t.Helper()
	return stacktest.Run(t, func(ctx *pulumi.Context) error {
		_, err := New(ctx, "workloads", a)
		return err
	}, stacktest.Options{Stack: "test"})
}

func objectName(r stacktest.Resource) string {
	return r.Inputs["metadata"].ObjectValue()["name"].StringValue()
}

// TestPodsHaveWhatTheirHookRuns, whatever the program.
func TestPodsHaveWhatTheirHookRuns(t *testing.T) {
	for name, w := range Catalog() {
		files, err := scriptsOf(w)
		if err != nil {
			t.Fatal(err)
		}
		if files[path.Join(sharedPackage, leaveModule+".py")] == "" {
			t.Errorf("%s has no module %s", name, leaveModule)
		}
	}
}
