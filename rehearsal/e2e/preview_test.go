package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreviewComment previews changes to the production stack as `make preview`
// does for a pull request: from this checkout to one with another stack file.
func TestPreviewComment(t *testing.T) {
	const stack = "prod-eastus2"
	e := newEnv(t, "e2e-preview")
	changed := e.copyCheckout(t.TempDir())
	file := filepath.Join(changed, "Pulumi."+stack+".yaml")
	data, err := os.ReadFile(file)
	must(t, err)
	for _, c := range []struct {
		name, old, new string
		// fails is what the comment command ends with; says is what stands in the comment.
		fails string
		says  []string
	}{
		{"another size of a pool", "a100: { vmSize: Standard_ND96amsr_A100_v4, max: 2", "a100: { vmSize: Standard_ND96asr_v4, max: 2",
			"it would replace the pool", []string{"**Replaced (", "`vmSize"}},
		{"another priority", "smoke: { enabled: true, team: weather, priority: high }", "smoke: { enabled: true, team: weather, priority: low }",
			"", []string{"**Deleted (1)**", "1 created", "smoke-"}},
		{"a mistake", "team: weather, priority: high", "team: wether, priority: high",
			"the preview failed", []string{": failed", "workloads.smoke.team", "weather"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(string(data), c.old, c.new, 1)
			if text == string(data) {
				t.Fatalf("the stack file has no %q", c.old)
			}
			must(t, os.WriteFile(file, []byte(text), 0o600))
			preview := filepath.Join(t.TempDir(), "preview.json")
			out, err := exec.Command(e.rehearse, "-root", changed, "-dir", string(e.dir), "-stack", stack, "preview", e.root, preview).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			comment, err := e.comment(stack, preview)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(comment, c.fails) {
				t.Errorf("it ends with %v, want %q:\n%s", err, c.fails, comment)
			}
			for _, words := range c.says {
				if !strings.Contains(comment, words) {
					t.Errorf("the comment has no %q:\n%s", words, comment)
				}
			}
		})
	}
}

// copyCheckout copies the files that git knows or would take.
func (e *env) copyCheckout(to string) string {
	e.Helper()
	cmd := exec.Command("bash", "-c", `set -o pipefail; git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C "$1"`, "copy", to)
	cmd.Dir = e.root
	if out, err := cmd.CombinedOutput(); err != nil {
		e.Fatalf("copying the checkout: %v\n%s", err, out)
	}
	return to
}

// comment answers what the comment command says of a preview.
func (e *env) comment(stack, preview string) (string, error) {
	e.Helper()
	in, err := os.Open(preview)
	must(e.T, err)
	defer in.Close()
	cmd := exec.Command(filepath.Join(filepath.Dir(e.rehearse), "comment"), "-stack", stack)
	cmd.Stdin = in
	out, err := cmd.CombinedOutput()
	return string(out), err
}
