package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere are the README's commands that this test does not run, and why.
var elsewhere = map[string]string{
	"make test": "it runs this test",
}

// shell finds the README's blocks of commands.
var shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// evaluated finds a command whose output is evaluated.
var evaluated = regexp.MustCompile(`^eval "\$\((.*)\)"$`)

// TestReadme runs the README's local commands in a copy of the checkout, in
// their order, as a newcomer would. One that it says is refused must fail.
func TestReadme(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	must(t, err)
	e := &env{T: t, root: root}
	clone := e.copyCheckout(t.TempDir())
	data, err := os.ReadFile(filepath.Join(clone, "README.md"))
	must(t, err)
	local, _, found := strings.Cut(string(data), "\n## On Azure\n")
	if !found {
		t.Fatal("the README has no section on Azure, whose commands cannot run here")
	}
	var script strings.Builder
	script.WriteString("set -eu -o pipefail\ntrap 'make rehearse-down' EXIT\nsay() { echo \"+ $1\"; }\n")
	ran := 0
	for _, block := range shell.FindAllStringSubmatch(local, -1) {
		for line := range strings.Lines(block[1]) {
			command, about, _ := strings.Cut(strings.TrimSpace(line), "  #")
			command = strings.TrimSpace(command)
			if elsewhere[command] != "" || command == "make rehearse-down" {
				continue // the trap ends the rehearsal
			}
			ran++
			fmt.Fprintf(&script, "say %s\n", quoted(command))
			if why, ok := strings.CutPrefix(strings.TrimSpace(about), "refused: "); ok {
				fmt.Fprintf(&script, "if said=$(%s 2>&1); then echo 'it was not refused'; exit 1; fi\ngrep -qF %s <<< \"$said\"\n", command, quoted(why))
				continue
			}
			if inner := evaluated.FindStringSubmatch(command); inner != nil {
				command = inner[1] + " > /dev/null; " + command // a failure inside would be lost
			}
			fmt.Fprintf(&script, "%s\n", command)
		}
	}
	if ran < 8 {
		t.Fatalf("the README has only %d local commands", ran)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	cmd.Dir = clone
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-8000):])
	}
}

// quoted makes one word of a text, for bash.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
