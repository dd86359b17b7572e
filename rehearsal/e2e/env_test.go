package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ray-on-aks/rehearsal/engine"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/raydash"
	"ray-on-aks/rehearsal/report"
	"ray-on-aks/rehearsal/toolchain"
)

// env is a rehearsal of this checkout, apart from the user's own.
type env struct {
	*testing.T
	dir      layout.Dir
	root     string
	rehearse string
	engine   *engine.Engine
}

// newEnv prepares a rehearsal in the checkout's folder; what an earlier run
// left is removed first, and what this one made is removed at the end.
func newEnv(t *testing.T, name string) *env {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	bin := filepath.Join(root, ".rehearsal", "bin")
	e := &env{T: t, root: root, rehearse: filepath.Join(bin, "rehearse")}
	path := filepath.Join(root, ".rehearsal", name)
	e.command(path, "down")
	e.dir, err = layout.Open(path)
	must(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			e.keepLogs()
		}
		e.command(path, "down")
	})
	tools, err := toolchain.New(root, os.Stderr)
	must(t, err)
	e.engine, err = engine.New(t.Context(), root, bin, e.dir, tools, "rehearsal")
	must(t, err)
	must(t, e.engine.Build(t.Context()))
	must(t, e.engine.Init(t.Context(), true))
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command runs the rehearse command on the rehearsal in path.
func (e *env) command(path string, args ...string) string {
	e.Helper()
	out, err := e.rehearsing(path, args...).CombinedOutput()
	if err != nil {
		e.Fatalf("rehearse %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// rehearsing is the rehearse command on the rehearsal in path, ready to start.
func (e *env) rehearsing(path string, args ...string) *exec.Cmd {
	return exec.Command(e.rehearse, append([]string{"-root", e.root, "-dir", path}, args...)...)
}

// keepLogs prints the ends of the rehearsal's logs before they are removed.
func (e *env) keepLogs() {
	logs, err := filepath.Glob(e.dir.Join("planes", "*", "logs", "pod-*.log"))
	if err != nil {
		e.Log(err)
	}
	for _, log := range append(logs, e.dir.Join("logs", "supervisor.log")) {
		if data, err := os.ReadFile(log); err == nil {
			e.Logf("end of %s:\n%s", filepath.Base(log), data[max(0, len(data)-6000):])
		}
	}
}

// supervise starts the supervisor in the background, as `rehearse up` does.
// flags come before its command.
func (e *env) supervise(flags ...string) {
	e.Helper()
	must(e.T, os.MkdirAll(e.dir.Join("logs"), 0o755))
	log, err := os.OpenFile(e.dir.Join("logs", "supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(e.T, err)
	defer log.Close()
	cmd := e.rehearsing(string(e.dir), append(flags, "supervise")...)
	cmd.Stdout, cmd.Stderr = log, log
	must(e.T, cmd.Start())
	go func() {
		if err := cmd.Wait(); err != nil {
			fmt.Fprintln(os.Stderr, "supervisor ended:", err)
		}
	}()
}

// try runs a pulumi command on the stack and answers its output.
func (e *env) try(args ...string) (string, error) {
	var out bytes.Buffer
	start := time.Now()
	err := e.engine.Run(e.Context(), &out, args...)
	e.Logf("pulumi %s: %.1f s", args[0], time.Since(start).Seconds())
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out.String())
	}
	return out.String(), err
}

func (e *env) pulumi(args ...string) string {
	e.Helper()
	out, err := e.try(args...)
	must(e.T, err)
	return out
}

// unchanged asserts that an update changes nothing, at a time that is said in words.
func (e *env) unchanged(when string) {
	e.Helper()
	if _, err := e.try("up", "--yes", "--skip-preview", "--expect-no-changes"); err != nil {
		e.Errorf("up %s: %v", when, err)
	}
}

var changeLine = regexp.MustCompile(`(?m)^\s+[-+~]+\s*(\d+) (created|updated|deleted|replaced|to create|to delete|to update|to replace)`)

// changes reads the summary at the end of an update's output.
func changes(out string) map[string]int {
	counts := map[string]int{}
	for _, m := range changeLine.FindAllStringSubmatch(out, -1) {
		n, err := strconv.Atoi(m[1])
		if err == nil {
			counts[m[2]] = n
		}
	}
	return counts
}

// outcome says how long simulated jobs run from now on.
func (e *env) outcome(seconds float64) {
	e.Helper()
	e.outcomes(map[string]raydash.Outcome{"": {Seconds: seconds}})
}

// outcomes says how jobs run whose names begin in these ways.
func (e *env) outcomes(byPrefix map[string]raydash.Outcome) {
	e.Helper()
	e.tell(e.dir.Outcomes(), byPrefix)
}

// tell writes what a part of the rehearsal is to do into the file that it reads.
func (e *env) tell(file string, what any) {
	e.Helper()
	data, err := json.Marshal(what)
	must(e.T, err)
	must(e.T, os.WriteFile(file, data, 0o600))
}

// kubeconfig is the path of the one cluster's kubeconfig, or "".
func (e *env) kubeconfig() string {
	paths, err := filepath.Glob(e.dir.ClusterKubeconfig("*"))
	must(e.T, err)
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

func (e *env) reader() *report.Reader {
	e.Helper()
	reader, err := report.Open(e.kubeconfig())
	must(e.T, err)
	return reader
}

// follow watches jobs until the test ends.
func (e *env) follow(progress io.Writer) *report.Follower {
	return e.run(report.NewFollower(e.kubeconfig, progress))
}

// run runs a follower until the test ends.
func (e *env) run(f *report.Follower) *report.Follower {
	ctx, cancel := context.WithCancel(e.Context())
	e.Cleanup(cancel)
	go f.Run(ctx)
	return f
}

// eventually polls until check answers nil: often at first, and more seldom the
// longer it takes.
func (e *env) eventually(within time.Duration, check func() error) {
	e.Helper()
	deadline := time.Now().Add(within)
	for pause := 250 * time.Millisecond; ; pause = min(pause+pause/16, 3*time.Second) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("after %s: %v", within, err)
		}
		time.Sleep(pause)
	}
}

var errNotYet = errors.New("not yet")
