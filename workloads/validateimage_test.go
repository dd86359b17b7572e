package workloads

import "testing"

// TestAnImageKnowsTokens: what its name says of the Ray in it is heeded.
func TestAnImageKnowsTokens(t *testing.T) {
	image := func(image string) Declared { return job(func(w *Workload) { w.Image = image }) }
	alone(t, map[string]Declared{
		`workloads.smoke.image: must have Ray 2.52.0 or newer, got "rayproject/ray:2.46.0"`: image("rayproject/ray:2.46.0"),
		`newer, got "docker.io/rayproject/ray-ml:2.9.3-py310-gpu"`:                          image("docker.io/rayproject/ray-ml:2.9.3-py310-gpu"),
		`newer, got "me.azurecr.io/mirror/rayproject/ray:2.51.1-cpu"`:                       image("me.azurecr.io/mirror/rayproject/ray:2.51.1-cpu"),
		`newer, got "mcr.microsoft.com/aks/ai-runtime/ray:py3.12-ray2.49.0-cuda13.0"`:       image("mcr.microsoft.com/aks/ai-runtime/ray:py3.12-ray2.49.0-cuda13.0"),
	})
	for _, name := range []string{"rayproject/ray:2.52.0", "rayproject/ray:2.100.0-py312", "rayproject/ray:nightly", "me.azurecr.io/team/ray:1.0.0", "me.azurecr.io/notrayproject/ray:1.0.0"} {
		if err := stack(image(name)).Validate(); err != nil {
			t.Error(err)
		}
	}
}
