package pods

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ray-on-aks/rehearsal/process"
)

// TestMain makes the test binary stand in for the rehearse command, which runs
// Init for "pod-init <file>".
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "pod-init":
		code, err := Init(os.Args[2])
		if err != nil {
			fmt.Println("sandbox:", err)
			code = 1
		}
		os.Exit(code)
	case len(os.Args) == 2 && os.Args[1] == "probe-namespaces":
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if guestDir != "" {
		if err := os.RemoveAll(guestDir); err != nil {
			fmt.Println(err)
			code = 1
		}
	}
	os.Exit(code)
}

var guestDir string

// buildGuest builds the guest once. It must be static: a sandbox has no
// libraries.
var buildGuest = sync.OnceValues(func() (string, error) {
	var err error
	if guestDir, err = os.MkdirTemp("", "guest-"); err != nil {
		return "", err
	}
	path := filepath.Join(guestDir, "guest")
	cmd := exec.Command("go", "build", "-o", path, "./testdata/guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the guest: %w\n%s", err, out)
	}
	return path, nil
})

// guest answers the guest's path; without user namespaces the test is skipped.
func guest(t *testing.T) string {
	t.Helper()
	probe := exec.Command(os.Args[0], "probe-namespaces")
	probe.SysProcAttr = Attr()
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("this machine forbids user namespaces: %v %s", err, out)
	}
	path, err := buildGuest()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// sandboxed is a guest in a sandbox.
type sandboxed struct {
	*process.Process
	t      *testing.T
	socket string
}

// startGuest runs the guest in a sandbox that change may change.
func startGuest(t *testing.T, change func(*Sandbox), command ...string) *sandboxed {
	t.Helper()
	path, dir := guest(t), t.TempDir()
	group, err := process.NewGroup(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := Sandbox{
		Root: filepath.Join(dir, "root"), Mounts: map[string]string{"/manager": path},
		Command: append([]string{"/manager"}, command...), Inbound: filepath.Join(t.TempDir(), "s"),
	}
	if change != nil {
		change(&s)
	}
	file := filepath.Join(dir, "sandbox.json")
	if err := errors.Join(os.Mkdir(s.Root, 0o755), s.WriteFile(file)); err != nil {
		t.Fatal(err)
	}
	p, err := group.Start(process.Spec{
		Name: "guest", Path: os.Args[0], Args: []string{"pod-init", file}, Attr: Attr(), Once: true,
		Env: append(os.Environ(), "FROM_OUTSIDE=1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(0) })
	return &sandboxed{Process: p, t: t, socket: s.Inbound}
}

// output answers what the guest has printed.
func (s *sandboxed) output() string {
	s.t.Helper()
	out, err := os.ReadFile(s.LogPath())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(out)
}

// wait answers the exit code of a guest that ends by itself.
func (s *sandboxed) wait() int {
	s.t.Helper()
	select {
	case <-s.Ended():
	case <-time.After(20 * time.Second):
		s.t.Fatalf("the guest does not end; it printed %q", s.output())
	}
	var exit *exec.ExitError
	switch err := s.Err(); {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		s.t.Fatalf("the guest ended with %v", err)
		return -1
	}
}

// awaitOutput waits until the guest has printed the text.
func (s *sandboxed) awaitOutput(text string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the guest prints %q", text), func() bool { return strings.Contains(s.output(), text) })
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
