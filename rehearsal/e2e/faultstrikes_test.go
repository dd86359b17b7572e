package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/process"
)

// kill ends a process without warning.
func kill(pid int) error {
	if pid == 0 {
		return errNotYet
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// interruptTwice is what an impatient user does: the second time the engine
// drops everything.
func interruptTwice(e *env) error {
	pid := e.enginePID()
	if pid == 0 {
		return errNotYet
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(pid, syscall.SIGINT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil // the first was enough
}

// killPlugin kills a child of the engine by the name of its program.
func (e *env) killPlugin(name string) error {
	engine := e.enginePID()
	given, err := process.WithEnv(layout.EnvDir + "=" + string(e.dir))
	if err != nil {
		return err
	}
	for _, pid := range given {
		// A process that ends while it is looked at has no files any more.
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		program, _, _ := strings.Cut(string(line), "\x00")
		if parent, parentErr := process.Parent(pid); err == nil && parentErr == nil && parent == engine && filepath.Base(program) == name {
			return kill(pid)
		}
	}
	return fmt.Errorf("no process %s: %w", name, errNotYet)
}

// killPart kills a process of the control plane by its record; what keeps it
// starts it again.
func (e *env) killPart(pattern string) error { return e.signalPart(pattern, syscall.SIGKILL) }

func (e *env) signalPart(pattern string, signal syscall.Signal) error {
	records, err := filepath.Glob(e.dir.Join("planes", "*", "pids", pattern))
	if err != nil {
		return err
	}
	for _, record := range records {
		if pid := process.Alive(filepath.Dir(filepath.Dir(record)), filepath.Base(record)); pid != 0 {
			return syscall.Kill(-pid, signal)
		}
	}
	return fmt.Errorf("no process %s: %w", pattern, errNotYet)
}

// fillStateDisk lets the engine write no file that is as long as its state, and
// kills it some seconds later: by itself it would try for minutes.
func fillStateDisk(e *env) error {
	pid := e.enginePID()
	if pid == 0 {
		return errNotYet
	}
	info, err := os.Stat(e.dir.Join("state", ".pulumi", "stacks", "ray-on-aks", "rehearsal.json"))
	if err != nil {
		return err
	}
	limit := uint64(info.Size() / 2)
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		return err
	}
	time.Sleep(4 * time.Second)
	return kill(e.enginePID())
}

// loseNode takes a node away with what runs on it, as when its machine fails.
func loseNode(e *env) error {
	nodes := e.reader().Kubernetes.CoreV1().Nodes()
	list, err := nodes.List(e.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) == 0 {
		return errNotYet
	}
	return nodes.Delete(e.Context(), list.Items[len(list.Items)-1].Name, metav1.DeleteOptions{})
}
