package workloads

import (
	"strings"
	"testing"

	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/crd/crdtest"
)

// fields renders a workload as it is sent.
func fields(t *testing.T, a Args, name string) map[string]any {
	t.Helper()
	object, err := a.Render(name)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := crd.Fields(object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"apiVersion": object.GVK.GroupVersion().String(), "kind": object.GVK.Kind, "spec": spec,
		"metadata": map[string]any{"name": object.Meta.Name, "namespace": object.Meta.Namespace, "labels": toAny(object.Meta.Labels)},
	}
}

func toAny(labels map[string]string) map[string]any {
	m := map[string]any{}
	for key, value := range labels {
		m[key] = value
	}
	return m
}

// TestAnAPIServerTakesThem: the schema, the rules and the known fields are those of the CRDs.
func TestAnAPIServerTakesThem(t *testing.T) {
	for name := range Catalog() {
		if err := crdtest.Check(fields(t, stack(entry(name)), name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The check must be able to fail.
	object := fields(t, stack(service()), "online-serving")
	object["spec"].(map[string]any)["excludeHeadPodFromServeSvc"] = "yes"
	object["spec"].(map[string]any)["serveConfig"] = ""
	if err := crdtest.Check(object); err == nil || !strings.Contains(err.Error(), "excludeHeadPodFromServeSvc") || !strings.Contains(err.Error(), "unknown field") {
		t.Errorf("got %v", err)
	}
}
