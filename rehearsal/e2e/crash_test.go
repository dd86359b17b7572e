package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"ray-on-aks/rehearsal/process"
)

// TestCrashes kills the supervisor without warning, and then the rehearsal in
// the middle of an update: the cluster comes back as it was, and what is left
// of the second crash can be cleaned.
func TestCrashes(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-crash")
	e.outcome(1)
	e.rehearseUp()
	run := e.onlyRun()
	before, err := e.job(run)
	must(t, err)

	e.killSupervisor()
	// All that a user does after a crash is to run the same command again.
	if out := e.rehearseUp(); !strings.Contains(out, "26 unchanged") {
		t.Errorf("the rehearsal after the crash changed something:\n%s", out)
	}
	after, err := e.job(run)
	must(t, err)
	if after.RayJob.UID != before.RayJob.UID {
		t.Errorf("%s is another object than before the crash", run)
	}

	e.killMidUpdate()
	out := e.command(string(e.dir), "down")
	if left := processes(e.dir); len(left) > 0 {
		t.Errorf("left after down: %s\n%s", strings.Join(left, "\n"), out)
	}
	if _, err := os.Stat(string(e.dir)); !os.IsNotExist(err) {
		t.Errorf("down left the folder %s: %v", e.dir, err)
	}
}

// rehearseUp runs what `make rehearse` runs and answers its output.
func (e *env) rehearseUp() string {
	e.Helper()
	start := time.Now()
	out := e.command(string(e.dir), "up")
	e.Logf("rehearse up: %.1f s", time.Since(start).Seconds())
	return out
}

// killSupervisor kills the supervisor and waits until the kernel has ended all
// that it started.
func (e *env) killSupervisor() {
	e.Helper()
	pid := process.Alive(string(e.dir), "supervisor")
	if pid == 0 {
		e.Fatal("there is no supervisor to kill")
	}
	must(e.T, syscall.Kill(pid, syscall.SIGKILL))
	e.eventually(20*time.Second, func() error {
		if left := processes(e.dir); len(left) > 0 {
			return fmt.Errorf("still running after the supervisor's death: %s", strings.Join(left, "\n"))
		}
		return nil
	})
}

// killMidUpdate starts the same command again and kills it, not the engine that
// it started, while the engine works.
func (e *env) killMidUpdate() {
	e.Helper()
	var out bytes.Buffer
	cmd := exec.Command(e.rehearse, "-root", e.root, "-dir", string(e.dir), "up")
	cmd.Stdout, cmd.Stderr = &out, &out
	must(e.T, cmd.Start())
	e.eventually(time.Minute, func() error {
		for _, line := range processes(e.dir) {
			if strings.Contains(line, "pulumi up") {
				return nil
			}
		}
		return errNotYet
	})
	must(e.T, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		e.Fatalf("the rehearsal ended before it could be killed:\n%s", out.String())
	}
}
