package crdchart

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ray-on-aks/internal/gomodule"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"
)

// rendered returns what Helm makes of the chart, by the objects' names.
func rendered(t *testing.T, archive string) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	chart, err := loader.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	if len(chart.CRDObjects()) > 0 {
		t.Error("Helm takes the definitions for those that it installs once")
	}
	values, err := chartutil.ToRenderValues(chart, nil, chartutil.ReleaseOptions{Name: "r", Namespace: "n"}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		for _, manifest := range releaseutil.SplitManifests(file) {
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict([]byte(manifest), &crd); err != nil {
				t.Fatal(err)
			}
			all[crd.Name] = crd
		}
	}
	return all
}

// TestHelmMakesTheModulesDefinitions: what Helm applies is what KubeRay's module holds, and stays when the release goes.
func TestHelmMakesTheModulesDefinitions(t *testing.T) {
	module, err := gomodule.Dir("github.com/ray-project/kuberay/ray-operator")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(module, "config", "crd", "bases")
	archive, err := Pack(t.TempDir(), "kuberay-crds", "1.6.1", folder)
	if err != nil {
		t.Fatal(err)
	}
	got := rendered(t, archive)
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) < 4 || len(got) != len(files) {
		t.Fatalf("%d objects of %d files, %v", len(got), len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		crd := got[want.Name]
		if crd.Annotations[keepKey] != keepValue {
			t.Errorf("%s would go with its release", want.Name)
		}
		if delete(crd.Annotations, keepKey); !equality.Semantic.DeepEqual(crd, want) {
			t.Errorf("%s is not what the module holds", want.Name)
		}
	}
	// Helm stores a release in a Secret, chart and manifests, and a Secret holds a megabyte.
	if info, err := os.Stat(archive); err != nil || info.Size() > 200<<10 {
		t.Errorf("%s: %v, %v", archive, info, err)
	}
}

func TestTheSameDefinitionsAreTheSameChart(t *testing.T) {
	folder := t.TempDir()
	define := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "things.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pack := func(to string) (archive, content string) {
		t.Helper()
		archive, err := Pack(to, "things", "1.0.0", folder)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		return archive, string(data)
	}
	// A text that Helm would take for an action, and two objects in one file.
	define("# a comment\n---\nmetadata: {name: a}\nspec: {scope: '{{ fail }}'}\n---\nmetadata: {name: b}\n")
	here, there := t.TempDir(), t.TempDir()
	first, content := pack(here)
	if again, _ := pack(here); again != first {
		t.Errorf("packed again to %s, before %s", again, first)
	}
	if elsewhere, same := pack(there); filepath.Base(elsewhere) != filepath.Base(first) || same != content {
		t.Errorf("elsewhere it is another chart: %s, %s", elsewhere, first)
	}
	if got := rendered(t, first); got["a"].Spec.Scope != "{{ fail }}" || got["b"].Annotations[keepKey] != keepValue || len(got) != 2 {
		t.Errorf("Helm makes %v", got)
	}
	define("metadata: {name: c}")
	if other, _ := pack(here); other == first {
		t.Errorf("other definitions are packed to the same path %s", other)
	}
}

// TestTheSameFilesAreTheSameBytes: what is packed otherwise needs another recipe, or a chart that lies there already would be taken for it.
func TestTheSameFilesAreTheSameBytes(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "metadata: {name: a}", "below/b.json": `{"metadata": {"name": "b"}}`, "c.yml": "metadata: {name: c}", "notes.txt": "d"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := Pack(t.TempDir(), "things", "1.0.0", folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := rendered(t, archive); len(got) != 3 {
		t.Errorf("Helm makes %d objects, want 3", len(got))
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// How well it is compressed depends on the release of Go.
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, unpacked); err != nil {
		t.Fatal(err)
	}
	const want = "1: 3d3c8150"
	if got := fmt.Sprintf("%d: %x", recipe, hash.Sum(nil)[:4]); got != want {
		t.Errorf("recipe %s, want %s; raise the recipe", got, want)
	}
}

func TestWhatIsNoDefinitionIsAnError(t *testing.T) {
	empty, broken := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(empty, "README.md"), nil, 0o600); err != nil || Has(empty) {
		t.Fatal("a README is a definition", err)
	}
	if err := os.WriteFile(filepath.Join(broken, "a.yaml"), []byte("a: [b"), 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{empty: "holds no definitions", broken: "a.yaml: "} {
		to := t.TempDir()
		if _, err := Pack(to, "x", "1.0.0", folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}
