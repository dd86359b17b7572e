package e2e

import (
	"maps"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestLayers brings a platform up, and then a stack of a team that takes it
// from the first one's outputs: its job runs in the platform's queues, and what
// the team's stack does leaves the platform as it is.
func TestLayers(t *testing.T) {
	t.Parallel()
	platform := newEnv(t, "e2e-layers")
	platform.supervise()
	follower := platform.follow(os.Stderr)
	platform.only()
	team := platform.beside("team", map[string]any{
		"ray-on-aks:platform":  map[string]any{"stack": "rehearsal", "team": "language"},
		"ray-on-aks:workloads": map[string]any{"smoke": map[string]any{"enabled": true}},
	})
	team.refuses("platform.stack: organization/ray-on-aks/rehearsal gives out no platform: it is not up")

	platform.pulumi("up", "--yes", "--skip-preview")
	before := platform.objects()
	team.refusesMistakes()

	out := team.pulumi("up", "--yes")
	run := team.onlyRun()
	platform.checkRan(follower, run)
	team.noChanges(run, "finished", ended)
	team.checkRights(out)
	platform.unchanged("of the platform under a team's stack")

	team.pulumi("destroy", "--yes", "--skip-preview")
	if _, err := platform.job(run); err == nil {
		t.Errorf("%s is still there without its stack", run)
	}
	if after := platform.objects(); !maps.Equal(before, after) {
		t.Errorf("the platform had\n%v\nand has\n%v", before, after)
	}
	platform.unchanged("of the platform after the team's stack has gone")
	platform.pulumi("destroy", "--yes", "--skip-preview")
	platform.checkGone()
	team.refuses("platform.stack: organization/ray-on-aks/rehearsal gives out no platform: it is not up")
}

// beside answers the same rehearsal with another stack, of this configuration.
func (e *env) beside(stack string, config map[string]any) *env {
	e.Helper()
	file, err := yaml.Marshal(map[string]any{"config": config})
	must(e.T, err)
	other := *e
	other.engine, err = e.engine.Beside(e.Context(), stack, file)
	must(e.T, err)
	return &other
}

// refuses asserts that a preview of the stack fails, and says these words.
func (e *env) refuses(words string) {
	e.Helper()
	if out, err := e.try("preview"); err == nil || !strings.Contains(out, words) {
		e.Errorf("the preview does not say %q: %v\n%s", words, err, out)
	}
}

// refusesMistakes makes some that only the platform's outputs, or the engine,
// can tell, and mends them.
func (e *env) refusesMistakes() {
	e.Helper()
	const stackKey = "ray-on-aks:platform.stack"
	e.set(stackKey, "nowhere")
	e.refuses(`StackReference (platform.stack):
    error: Preview failed: unknown stack "organization/ray-on-aks/nowhere"`)
	e.set(stackKey, "rehearsal")
	e.set(smokeKey+"team", "weather")
	e.refuses("workloads.smoke.team: must be language")
	e.unset(smokeKey + "team")
	e.set(smokeKey+"workers", 1000)
	e.refuses("workloads.smoke: the worker can never run from queue ray-jobs")
	e.unset(smokeKey + "workers")
}

// checkRights asserts that the stack has nothing of Azure's in its state, and
// its platform's secrets only as such. printed is what pulumi has written to
// the terminal.
func (e *env) checkRights(printed string) {
	e.Helper()
	exported := e.pulumi("stack", "export")
	resources, _ := e.booked(exported)
	kinds := map[string]int{}
	for _, r := range resources {
		kinds[string(r.URN.Type())]++
	}
	want := map[string]int{
		"pulumi:pulumi:Stack": 1, "pulumi:pulumi:StackReference": 1, "pulumi:providers:kubernetes": 1, "pulumi:providers:random": 1,
		"ray-on-aks:index:Workloads": 1, "kubernetes:core/v1:ConfigMap": 1, "kubernetes:ray.io/v1:RayJob": 1,
	}
	// What is read of another stack has a provider of the engine's own.
	delete(kinds, "pulumi:providers:pulumi")
	if !maps.Equal(kinds, want) {
		e.Errorf("the team's stack has %v, want %v", kinds, want)
	}
	for what, secret := range e.logins(e.outputs().Kubeconfig) {
		for place, text := range map[string]string{"the terminal": printed, "the state": exported, "the plain outputs": e.pulumi("stack", "output", "--json")} {
			if contains(text, secret) {
				e.Errorf("%s is plain in %s", what, place)
			}
		}
	}
}
