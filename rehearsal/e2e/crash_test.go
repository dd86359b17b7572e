package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"ray-on-aks/rehearsal/process"
)

// TestCrashes kills the engine while Helm installs, the supervisor without warning,
// then the engine, and then the rehearsal itself in the middle of an update. After
// each, the same command once more is all that it takes; what is left of the last
// can be cleaned.
func TestCrashes(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-crash")
	e.outcome(1)
	e.killMidInstall()
	e.rehearseUp()
	unchanged := regexp.MustCompile(`\d+ unchanged`).FindString(e.rehearseUp())
	made := 0
	if _, err := fmt.Sscan(unchanged, &made); err != nil || made < 50 {
		t.Errorf("the rehearsal made only %q; %v", unchanged, err)
	}
	run := e.runOf("smoke")
	before, err := e.job(run)
	must(t, err)

	e.killSupervisor()
	// All that a user does after a crash is to run the same command again.
	if out := e.rehearseUp(); !strings.Contains(out, unchanged) {
		t.Errorf("the rehearsal after the crash changed something:\n%s", out)
	}
	after, err := e.job(run)
	must(t, err)
	if after.RayJob.UID != before.RayJob.UID {
		t.Errorf("%s is another object than before the crash", run)
	}

	e.killMidUpdate(func(_ *exec.Cmd) int { return e.enginePID() })
	if out := e.rehearseUp(); !strings.Contains(out, unchanged) {
		t.Errorf("the rehearsal after the engine's death changed something:\n%s", out)
	}

	e.killMidUpdate(func(cmd *exec.Cmd) int { return cmd.Process.Pid })
	out := e.command(string(e.dir), "down")
	if left := processes(e.dir); len(left) > 0 {
		t.Errorf("left after down: %s\n%s", strings.Join(left, "\n"), out)
	}
	if _, err := os.Stat(string(e.dir)); !os.IsNotExist(err) {
		t.Errorf("down left the folder %s: %v", e.dir, err)
	}
}

// killMidInstall brings the stack up and kills the engine while Helm waits for
// Kueue.
func (e *env) killMidInstall() {
	e.Helper()
	cmd := e.rehearsing(string(e.dir), "up")
	out, err := cmd.StdoutPipe()
	must(e.T, err)
	must(e.T, cmd.Start())
	killed := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Release infra-kueue creating") && !killed {
			time.Sleep(time.Second)
			must(e.T, kill(e.enginePID()))
			killed = true
		}
	}
	if err := cmd.Wait(); err == nil || !killed {
		e.Fatalf("the engine was not killed in an install: %v", err)
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

// enginePID is the process of the engine that works, or 0.
func (e *env) enginePID() int {
	records, err := filepath.Glob(e.dir.Join("pids", "pulumi-*"))
	must(e.T, err)
	for _, path := range records {
		if pid := process.Alive(string(e.dir), filepath.Base(path)); pid != 0 {
			return pid
		}
	}
	return 0
}

// killMidUpdate starts the same command again and kills one process of it, and
// no other, while the engine works.
func (e *env) killMidUpdate(victim func(*exec.Cmd) int) {
	e.Helper()
	var out bytes.Buffer
	cmd := e.rehearsing(string(e.dir), "up")
	cmd.Stdout, cmd.Stderr = &out, &out
	must(e.T, cmd.Start())
	locks := e.dir.Join("state", ".pulumi", "locks", "organization", "ray-on-aks", "rehearsal", "*.json")
	e.eventually(time.Minute, func() error {
		if held, err := filepath.Glob(locks); err != nil || len(held) == 0 || e.enginePID() == 0 {
			return errors.Join(errNotYet, err)
		}
		return nil
	})
	must(e.T, kill(victim(cmd)))
	if err := cmd.Wait(); err == nil {
		e.Fatalf("the rehearsal ended well although it was killed:\n%s", out.String())
	}
}
