package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreviewComment previews changes to the production stack as a pull request's
// workflow does: from a commit to a checkout with another stack file.
func TestPreviewComment(t *testing.T) {
	t.Parallel()
	const stack = "prod-eastus2"
	root, err := filepath.Abs("../..")
	must(t, err)
	e := &env{T: t, root: root}
	clone := e.copyCheckout(t.TempDir())
	e.in(clone, "git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -q -m base")
	file := filepath.Join(clone, "Pulumi."+stack+".yaml")
	data, err := os.ReadFile(file)
	must(t, err)
	for _, c := range []struct {
		name, old, new string
		fails          bool
		says           []string
	}{
		{"another size of a pool", "a100: { vmSize: Standard_ND96amsr_A100_v4, max: 2", "a100: { vmSize: Standard_ND96asr_v4, max: 2",
			true, []string{"> it would replace the pool infra-pool-a100, because of vmSize", "**Replaced (1)**", "| `vmSize` |"}},
		{"another priority", "smoke: { enabled: true, team: weather, priority: high }", "smoke: { enabled: true, team: weather, priority: low }",
			false, []string{"**Deleted (1)**", "1 created", "smoke-"}},
		{"a mistake", "team: weather, priority: high", "team: wether, priority: high",
			true, []string{": failed", "workloads.smoke.team", "weather"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(string(data), c.old, c.new, 1)
			if text == string(data) {
				t.Fatalf("the stack file has no %q", c.old)
			}
			must(t, os.WriteFile(file, []byte(text), 0o600))
			out, err := e.tryIn(clone, "make preview BASE=HEAD STACK="+stack)
			if (err != nil) != c.fails {
				t.Errorf("it ends with %v:\n%s", err, out)
			}
			comment, err := os.ReadFile(filepath.Join(clone, ".rehearsal", "preview-"+stack+".md"))
			must(t, err)
			for _, words := range c.says {
				if !strings.Contains(string(comment), words) {
					t.Errorf("the comment has no %q:\n%s", words, comment)
				}
			}
		})
	}
}

// copyCheckout copies the files that git knows or would take.
func (e *env) copyCheckout(to string) string {
	e.Helper()
	e.in(e.root, `git ls-files -co --exclude-standard -z | tar -c --null -T - | tar -x -C `+quoted(to))
	return to
}

// in runs a line of bash in the folder.
func (e *env) in(dir, line string) {
	e.Helper()
	if out, err := e.tryIn(dir, line); err != nil {
		e.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// tryIn runs a line of bash in the folder and answers its output.
func (e *env) tryIn(dir, line string) (string, error) {
	cmd := exec.CommandContext(e.Context(), "bash", "-c", "set -eu -o pipefail; "+line)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
