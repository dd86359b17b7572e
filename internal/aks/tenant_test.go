package aks

import "testing"

func TestHandlesAreOfNamespacesAndUnique(t *testing.T) {
	seen := map[string]string{}
	for namespace, want := range map[string]string{
		"ray": "ray", "ray-weather": "weather", "ray-ray": "ray-ray_", "ray-ray-ray": "ray-ray", "ml": "ml_", "ray-ml": "ml", "weather": "weather_", "ray_": "ray__",
	} {
		got := TenantHandle(namespace)
		if got != want {
			t.Errorf("%s: %s, want %s", namespace, got, want)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%s and %s are both %s", namespace, other, got)
		}
		seen[got] = namespace
	}
}
