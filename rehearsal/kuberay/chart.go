package kuberay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// WriteChart makes a Helm chart of the manifests in the folder, in the form of
// KubeRay's own: definitions in crds/, the rest as templates, and no namespace.
// It takes no values.
func WriteChart(folder, version string, objects []*unstructured.Unstructured) error {
	meta, err := yaml.Marshal(map[string]string{"apiVersion": "v2", "name": "kuberay-operator", "version": version})
	if err != nil {
		return err
	}
	files := map[string][]byte{"Chart.yaml": meta}
	for _, o := range objects {
		data, err := json.MarshalIndent(o, "", " ")
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s-%s.yaml", strings.ToLower(o.GetKind()), o.GetName())
		switch o.GetKind() {
		case "Namespace":
		case "CustomResourceDefinition":
			files[filepath.Join("crds", name)] = data
		default:
			files[filepath.Join("templates", name)] = data
		}
	}
	for name, data := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
