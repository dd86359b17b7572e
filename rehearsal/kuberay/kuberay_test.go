package kuberay

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"ray-on-aks/rehearsal/toolchain"
)

// build renders the pinned module's manifests, over what an earlier run left.
func build(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	tools, err := toolchain.New(filepath.Join("..", ".."), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir, _, err := tools.Module(ctx, toolchain.KubeRayModule)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(t.TempDir(), "work")
	left := filepath.Join(work, "config", "default", "kustomization.yaml")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := Build(dir, work)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func convert[T any](t *testing.T, o *unstructured.Unstructured) (typed T) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

func TestTheOperatorIsRenderedIntoItsNamespaceOnTheSystemPool(t *testing.T) {
	kinds := map[string]int{}
	var definitions []string
	for _, o := range build(t) {
		kinds[o.GetKind()]++
		switch o.GetKind() {
		case "CustomResourceDefinition":
			definitions = append(definitions, o.GetName())
		case "Namespace":
			if o.GetName() != Namespace {
				t.Errorf("namespace %s", o.GetName())
			}
		case "ClusterRoleBinding":
			for _, s := range convert[rbacv1.ClusterRoleBinding](t, o).Subjects {
				if s.Namespace != Namespace {
					t.Errorf("%s binds an account of namespace %q", o.GetName(), s.Namespace)
				}
			}
		case "ClusterRole":
		case "Deployment":
			checkDeployment(t, convert[appsv1.Deployment](t, o))
			fallthrough
		default:
			if o.GetNamespace() != Namespace {
				t.Errorf("%s %s lies in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
			}
		}
	}
	for _, kind := range []string{"Namespace", "Deployment"} {
		if kinds[kind] != 1 {
			t.Errorf("%d objects of kind %s, want one", kinds[kind], kind)
		}
	}
	for _, kind := range []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Service"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s", kind)
		}
	}
	for _, name := range []string{"rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io"} {
		if !slices.Contains(definitions, name) {
			t.Errorf("no definition of %s, only of %v", name, definitions)
		}
	}
}

func checkDeployment(t *testing.T, d appsv1.Deployment) {
	t.Helper()
	spec := d.Spec.Template.Spec
	if got := spec.NodeSelector["kubernetes.azure.com/mode"]; got != "system" {
		t.Errorf("the operator selects nodes of mode %q", got)
	}
	want := corev1.Toleration{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}
	if !slices.Contains(spec.Tolerations, want) {
		t.Errorf("the operator tolerates %v", spec.Tolerations)
	}
	if image := spec.Containers[0].Image; !strings.Contains(image, "kuberay/operator:") {
		t.Errorf("the operator's image is %s, for which the rehearsal has no program", image)
	}
}

func TestAModuleWithoutManifestsIsRefused(t *testing.T) {
	if objects, err := Build(t.TempDir(), filepath.Join(t.TempDir(), "work")); err == nil {
		t.Errorf("%d objects were rendered", len(objects))
	}
}
