// Package charttest renders Kueue's chart, as it lies in the module of the pinned version, with our values. It is a package of its own
// because Helm's engine is a large import.
package charttest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ray-on-aks/infra"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/gomodule"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kueueconfig "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/yaml"
)

// render returns the chart's manifests by file name.
func render(t *testing.T) map[string]string {
	t.Helper()
	dir, err := gomodule.Dir("sigs.k8s.io/kueue")
	if err != nil {
		t.Fatal(err)
	}
	chart, err := loader.Load(filepath.Join(dir, "charts", "kueue"))
	if err != nil {
		t.Fatal(err)
	}
	values, err := infra.KueueValues(infra.Kueue{
		WaitForPodsReady: metav1.Duration{Duration: 30 * time.Minute},
		RequeueLimit:     5,
		RetainFinished:   metav1.Duration{Duration: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: "kueue", Namespace: "kueue-system", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]string{}
	for path, content := range files {
		byName[filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path)] = content
	}
	return byName
}

func TestConfigurationIsWhatKueueReads(t *testing.T) {
	var manifest corev1.ConfigMap
	if err := yaml.UnmarshalStrict([]byte(render(t)["manager/manager-config.yaml"]), &manifest); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := kueueconfig.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	// As the manager decodes it: strictly, an unknown or repeated key is an error.
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	var config kueueconfig.Configuration
	data := []byte(manifest.Data["controller_manager_config.yaml"])
	if err := runtime.DecodeInto(codecs.UniversalDecoder(kueueconfig.GroupVersion), data, &config); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if !slices.Equal(config.Integrations.Frameworks, []string{"ray.io/rayjob"}) {
		t.Errorf("frameworks %v", config.Integrations.Frameworks)
	}
	if *config.Webhook.Port != 9443 || !*config.LeaderElection.LeaderElect || !*config.InternalCertManagement.Enable {
		t.Errorf("what the rest of the chart relies on is not restated: %+v", config.ControllerManager)
	}
	if config.WaitForPodsReady.Timeout.Duration != 30*time.Minute || *config.WaitForPodsReady.RequeuingStrategy.BackoffLimitCount != 5 {
		t.Errorf("waiting %+v", config.WaitForPodsReady)
	}
}

func TestManagerRunsOnTheSystemPool(t *testing.T) {
	var manager appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(render(t)["manager/manager.yaml"]), &manager); err != nil {
		t.Fatal(err)
	}
	spec := manager.Spec.Template.Spec
	if spec.NodeSelector["kubernetes.azure.com/mode"] != "system" || len(spec.Tolerations) != 1 || spec.Tolerations[0].Key != "CriticalAddonsOnly" {
		t.Errorf("placed by %v, %v", spec.NodeSelector, spec.Tolerations)
	}
	ports := map[string]int32{}
	for _, p := range spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["webhook-server"] != kueueconfig.DefaultWebhookPort {
		t.Errorf("the pod serves webhooks on %v, the configuration on %d", ports, kueueconfig.DefaultWebhookPort)
	}
}

func TestWebhooksOfJobsReachOnlyOurNamespaces(t *testing.T) {
	manifests := render(t)["webhook/manifests.yaml"]
	_, job, found := strings.Cut(manifests, "name: mjob.kb.io")
	if !found {
		t.Fatal("the chart has no webhook for Jobs any more")
	}
	job, _, _ = strings.Cut(job, "rules:")
	if !strings.Contains(job, "key: "+aks.LabelTenant) || !strings.Contains(job, "operator: Exists") {
		t.Errorf("the webhook for Jobs selects:\n%s", job)
	}
}
