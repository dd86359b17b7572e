package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ray-on-aks/rehearsal/process"
)

// TestACrashOfTheSupervisor kills it without warning, twice: the cluster comes
// back as it was, and what is left of the second crash can be cleaned.
func TestACrashOfTheSupervisor(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-crash")
	e.supervise()
	e.outcome(600)
	e.pulumi("up", "--yes", "--skip-preview")
	run := e.onlyRun()
	before, err := e.job(run)
	must(t, err)

	e.killSupervisor()
	e.supervise()
	e.eventually(time.Minute, func() error {
		after, err := e.job(run)
		if err != nil {
			return err
		}
		if after.RayJob.UID != before.RayJob.UID {
			return fmt.Errorf("%s is another object than before the crash", run)
		}
		return nil
	})
	if _, err := e.try("up", "--yes", "--skip-preview", "--expect-no-changes"); err != nil {
		t.Errorf("up after the crash: %v", err)
	}

	e.killSupervisor()
	out := e.command(string(e.dir), "down")
	if left := cmdlines(string(e.dir)); len(left) > 0 {
		t.Errorf("left after down: %s\n%s", strings.Join(left, "\n"), out)
	}
	if _, err := os.Stat(string(e.dir)); !os.IsNotExist(err) {
		t.Errorf("down left the folder %s: %v", e.dir, err)
	}
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
		if left := cmdlines(string(e.dir)); len(left) > 0 {
			return fmt.Errorf("still running after the supervisor's death: %s", strings.Join(left, "\n"))
		}
		return nil
	})
}
