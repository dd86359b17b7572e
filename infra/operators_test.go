package infra

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func TestChartsOfConfigReplaceThePinned(t *testing.T) {
	for _, tc := range []struct {
		in   Operator
		want Chart
	}{
		{Operator{}, Chart{"x", "1", "https://charts"}},
		{Operator{Version: "2"}, Chart{"x", "2", "https://charts"}},
		{Operator{Chart: "oci://y"}, Chart{"oci://y", "1", ""}},
		{Operator{Chart: "/y"}, Chart{"/y", "", ""}},
		{Operator{Chart: "./y", Version: "3"}, Chart{"./y", "3", ""}},
	} {
		if got := tc.in.or(Chart{"x", "1", "https://charts"}); got != tc.want {
			t.Errorf("%+v: %+v, want %+v", tc.in, got, tc.want)
		}
	}
}

func TestImagesAreMicrosoftsUnlessAChartBringsItsOwn(t *testing.T) {
	values := func(args Args, role string) map[string]any {
		return run(t, args).Named(t, "infra-"+role).Inputs["values"].Mappable().(map[string]any)
	}
	args := valid()
	image := values(args, roleKubeRay)["image"].(map[string]any)
	if want := map[string]any{"repository": "mcr.microsoft.com/oss/v2/kuberay/operator", "tag": "v1.6.1"}; !maps.Equal(image, want) {
		t.Errorf("KubeRay's image %v", image)
	}
	manager := values(args, roleKueue)["controllerManager"].(map[string]any)
	image = manager["manager"].(map[string]any)["image"].(map[string]any)
	if want := map[string]any{"repository": "mcr.microsoft.com/oss/v2/kueue/kueue", "tag": "v0.17.1"}; !maps.Equal(image, want) {
		t.Errorf("Kueue's image %v", image)
	}
	if manager["nodeSelector"] == nil {
		t.Error("Kueue lost its place on the system pool")
	}
	args.Operators.KubeRay.Chart, args.Operators.Kueue.Chart = "oci://registry/mine", "./charts/kueue"
	if v := values(args, roleKubeRay)["image"]; v != nil {
		t.Errorf("a chart of config is given the image %v", v)
	}
	if v := values(args, roleKueue)["controllerManager"].(map[string]any)["manager"]; v != nil {
		t.Errorf("a chart of config is given %v", v)
	}
}

func TestFoldersHaveNoVersion(t *testing.T) {
	args := valid()
	args.Operators.KubeRay = Operator{Mode: ModePreinstalled}
	args.Operators.Kueue.Chart = "./charts/kueue"
	release := run(t, args).One(t, releaseToken)
	if release.Inputs["chart"].StringValue() != "./charts/kueue" || release.Inputs.HasValue("version") || release.Inputs.HasValue("repositoryOpts") {
		t.Errorf("release %v", release.Inputs)
	}
}

func TestKubeRayComesFirst(t *testing.T) {
	if kueue := run(t, valid()).Named(t, "infra-kueue"); !dependsOn(kueue, "infra-kuberay") {
		t.Errorf("Kueue comes after %v", kueue.Dependencies)
	}
}

// Kueue manages the tenants' namespaces and no other, and hears nothing of it when one comes.
func TestKueueManagesEveryTenant(t *testing.T) {
	one := run(t, valid())
	r := run(t, large())
	if few, many := one.Named(t, "infra-kueue").Inputs["values"], r.Named(t, "infra-kueue").Inputs["values"]; !few.DeepEquals(many) {
		t.Errorf("Kueue's values change with the tenants, from %v to %v", few, many)
	}
	var config struct {
		Selector metav1.LabelSelector `json:"managedJobsNamespaceSelector"`
	}
	text := r.Named(t, "infra-kueue").Inputs["values"].ObjectValue()["managerConfig"].ObjectValue()["controllerManagerConfigYaml"].StringValue()
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&config.Selector)
	if err != nil {
		t.Fatal(err)
	}
	var managed []string
	for _, res := range r.OfType(":Namespace") {
		namespace := decode[corev1.Namespace](t, res)
		if selector.Matches(labels.Set(namespace.Labels)) {
			managed = append(managed, namespace.Name)
		}
	}
	if !slices.Equal(managed, []string{"ray-language", "ray-vision"}) {
		t.Errorf("Kueue manages %v", managed)
	}
}

func TestGPUOperators(t *testing.T) {
	r := run(t, large())
	for _, role := range []string{roleDevicePlugin, roleGPUMonitoring} {
		stacktest.Golden(t, role, r.Named(t, "infra-"+role).Inputs.Mappable())
	}
	for _, res := range r.OfType(":Namespace") {
		if res.Inputs["metadata"].ObjectValue()["name"].StringValue() == "kube-system" {
			t.Errorf("%s makes Kubernetes' own namespace", res.URN())
		}
	}
}

func TestGPUOperatorsAreOnlyWhereGPUsAre(t *testing.T) {
	releases := func(args Args) string {
		var names []string
		for _, res := range run(t, args).OfType(releaseToken) {
			names = append(names, strings.TrimPrefix(res.Name, "infra-"))
		}
		return strings.Join(names, " ")
	}
	preinstalled := large()
	preinstalled.Operators.DevicePlugin.Mode, preinstalled.Operators.GPUMonitoring.Mode = ModePreinstalled, ModePreinstalled
	serving := valid()
	serving.Pools["serve"] = large().Pools["serve"]
	for want, args := range map[string]Args{
		"kuberay kuberay-crds kueue": valid(), "device-plugin gpu-monitoring kuberay kuberay-crds kueue": serving,
	} {
		if got := releases(args); got != want {
			t.Errorf("installs %s, want %s", got, want)
		}
	}
	if got := releases(preinstalled); got != "kuberay kuberay-crds kueue" {
		t.Errorf("installs %s beside what is preinstalled", got)
	}
	if r := run(t, valid()); slices.ContainsFunc(r.Resources, func(res stacktest.Resource) bool { return strings.Contains(res.Name, "gpu") }) {
		t.Errorf("a stack of CPUs alone has something for GPUs:\n%s", r.Tree())
	}
}

func TestMonitoringHasOneProfileASize(t *testing.T) {
	args := large()
	args.SKUs = map[string]Size{"Standard_NC80_B300_v7": h100}
	for name, size := range map[string]string{
		"again": "standard_nd96amsr_A100_v4", "small": "Standard_ND96asr_v4", "a100": "Standard_NC80_B300_v7",
	} {
		args.Pools[name] = Pool{VMSize: size, Max: 1}
	}
	profiles := resource.NewPropertyMapFromMap(args.monitoringProfiles())
	if got := profiles["a100"].ObjectValue(); len(got["instanceTypes"].ArrayValue()) != 2 || got["num_gpus"].NumberValue() != 8 {
		t.Errorf("the chart's profile is %v, want the two sizes with 8 GPUs, each once", got)
	}
	if got := profiles["pool-a100"].ObjectValue(); got["num_gpus"].NumberValue() != 1 || got["monitor_config"].StringValue() == "" {
		t.Errorf("a size that the chart does not know has the profile %v", got)
	}
	if len(profiles) != 3 {
		t.Errorf("profiles %v", profiles)
	}
}

func TestReleasesSayWhereTheyAre(t *testing.T) {
	args := large()
	args.Operators.KubeRay.Mode = ModePreinstalled
	args.Operators.Kueue.Chart = "./charts/kueue"
	want := map[string]string{
		"kueue":         "kueue-system/kueue ./charts/kueue",
		"devicePlugin":  "kube-system/nvidia-device-plugin 0.17.0",
		"gpuMonitoring": "gpu-monitoring/gpu-monitoring 0.1.1",
	}
	if got := args.Releases(); !maps.Equal(got, want) {
		t.Errorf("releases %v, want %v", got, want)
	}
}
