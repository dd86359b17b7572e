package workloads

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// byKubernetes is what Kubernetes makes of a text: Expand of third_party/forked/golang/expansion, for variables that all have the value X.
func byKubernetes(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		end := strings.IndexByte(text[i:], ')')
		switch {
		case text[i] == '$':
			out.WriteByte('$')
		case text[i] == '(' && end > 0:
			out.WriteByte('X')
			i += end
		default:
			out.WriteString("$" + text[i:i+1])
		}
	}
	return out.String()
}

// TestKubernetesMakesTheSameOfIt for all short texts of what it looks at.
func TestKubernetesMakesTheSameOfIt(t *testing.T) {
	texts := []string{""}
	for range 6 {
		var longer []string
		for _, text := range texts {
			for _, c := range "$()a" {
				longer = append(longer, text+string(c))
			}
		}
		for _, text := range longer {
			if got := byKubernetes(literal(text)); got != text {
				t.Fatalf("%q is written as %q, of which Kubernetes makes %q", text, literal(text), got)
			}
		}
		texts = longer
	}
	if got := literal("$HOME ${A} $5 é$"); got != "$HOME ${A} $5 é$" {
		t.Errorf("written as %q, and needs not be", got)
	}
}

// TestProgramsGetWhatIsWritten in the places that Kubernetes expands. The run is the same as ever.
func TestProgramsGetWhatIsWritten(t *testing.T) {
	w := running("python a.py '$(date) $$'")
	w.Enabled, w.Env = true, env("PASSWORD", "a$$b$(HOME)")
	a := stack(Declared{"mine": w})
	run, err := a.run("mine", a.resolved(a.Declared["mine"]))
	if err != nil {
		t.Fatal(err)
	}
	spec := a.rayJobSpec(run, a.Declared["mine"])
	if got := byKubernetes(spec.Entrypoint); got != w.Entrypoint {
		t.Errorf("the submitter is given %q", got)
	}
	for _, pod := range []corev1.PodTemplateSpec{spec.RayClusterSpec.HeadGroupSpec.Template, spec.RayClusterSpec.WorkerGroupSpecs[0].Template} {
		found := ""
		for _, e := range pod.Spec.Containers[0].Env {
			if e.Name == "PASSWORD" {
				found = byKubernetes(e.Value)
			}
		}
		if found != w.Env["PASSWORD"] {
			t.Errorf("the program is given %q", found)
		}
	}
}
