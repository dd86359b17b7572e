package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func start(t *testing.T, g *Group, spec Spec) *Process {
	t.Helper()
	p, err := g.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(time.Second) })
	return p
}

func newGroup(t *testing.T) (*Group, string) {
	t.Helper()
	dir := t.TempDir()
	g, err := NewGroup(dir)
	if err != nil {
		t.Fatal(err)
	}
	return g, dir
}

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func sh(script string) Spec { return Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}} }

func TestStopEndsTheWholeGroupAndRemovesTheRecord(t *testing.T) {
	g, dir := newGroup(t)
	p := start(t, g, sh("sleep 60 & wait"))
	if Alive(dir, "sh") == 0 {
		t.Fatal("a running process is not recorded")
	}
	p.Stop(5 * time.Second)
	if pid := Alive(dir, "sh"); pid != 0 {
		t.Errorf("pid %d still runs", pid)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "pids", "*")); err != nil || len(left) != 0 {
		t.Errorf("records left: %v, %v", left, err)
	}
}

func TestStopKillsWhatIgnoresTheSignal(t *testing.T) {
	g, dir := newGroup(t)
	p := start(t, g, sh("trap '' TERM; echo ready; while :; do sleep 0.1; done"))
	waitFor(t, "the trap is set", func() bool {
		out, err := os.ReadFile(p.LogPath())
		return err == nil && strings.Contains(string(out), "ready")
	})
	p.Stop(100 * time.Millisecond)
	if Alive(dir, "sh") != 0 {
		t.Error("the process outlived Stop")
	}
}

func TestADeadProcessIsStartedAgainUnlessOnce(t *testing.T) {
	g, _ := newGroup(t)
	marks := filepath.Join(t.TempDir(), "marks")
	start(t, g, sh("echo x >>"+marks+"; exit 1"))
	waitFor(t, "the second start", func() bool {
		out, err := os.ReadFile(marks)
		return err == nil && strings.Count(string(out), "x") >= 2
	})
	once := sh("exit 3")
	once.Name, once.Once = "once", true
	p := start(t, g, once)
	select {
	case <-p.Ended():
	case <-time.After(10 * time.Second):
		t.Fatal("a Once process did not end")
	}
	if p.Err() == nil {
		t.Error("the exit code is lost")
	}
}

func TestSweepEndsRecordedProcessesButNeverAReusedPid(t *testing.T) {
	dir := t.TempDir()
	records := filepath.Join(dir, "deep", "pids")
	if err := os.MkdirAll(records, 0o755); err != nil {
		t.Fatal(err)
	}
	victim, bystander := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	for _, c := range []*exec.Cmd{victim, bystander} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := bystander.Process.Kill(); err != nil {
			t.Error("the bystander was ended:", err)
		}
		_ = bystander.Wait() // killed by the line above
	})
	if err := record(filepath.Join(records, "victim"), victim.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// The same pid with another start time: what a record of last week says.
	if err := record(filepath.Join(records, "stale"), bystander.Process.Pid); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(records, "stale"))
	if err != nil {
		t.Fatal(err)
	}
	stale := strings.Fields(string(data))[0] + " 12345\n"
	if err := os.WriteFile(filepath.Join(records, "stale"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, err := Sweep(dir, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(ended) != 1 || ended[0] != "victim" {
		t.Errorf("ended %v, want the victim alone", ended)
	}
	if err := victim.Wait(); err == nil {
		t.Error("the victim ended by itself")
	}
}

func TestSweepEnvEndsWhatWasGivenTheSettingAndNothingElse(t *testing.T) {
	victim, bystander := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	victim.Env = []string{"A=1", "REHEARSAL_DIR=/somewhere"}
	bystander.Env = []string{"REHEARSAL_DIR=/somewhere/else", "B=REHEARSAL_DIR=/somewhere"}
	for _, c := range []*exec.Cmd{victim, bystander} {
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	n, err := SweepEnv("REHEARSAL_DIR=/somewhere", 5*time.Second)
	if err != nil || n != 1 {
		t.Errorf("ended %d processes, %v; want the victim alone", n, err)
	}
	if err := victim.Wait(); err == nil {
		t.Error("the victim ended by itself")
	}
	if err := bystander.Process.Kill(); err != nil {
		t.Error("the bystander was ended:", err)
	}
	if err := bystander.Wait(); err == nil {
		t.Error("the bystander ended by itself")
	}
}

func TestProxiesAreTakenOutInEitherCase(t *testing.T) {
	got := WithoutProxies([]string{"HTTP_PROXY=a", "https_proxy=b", "ALL_PROXY=c", "NO_PROXY=d", "HOME=/h"})
	if want := []string{"NO_PROXY=d", "HOME=/h"}; !slices.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}
