// Package process runs the rehearsal's long-lived programs: each with a log
// file and a record by which a later command can end it, even after a crash.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Name identifies the process; its log is <name>.log.
	Name string
	// Path is the executable.
	Path string
	Args []string
	// Env is the whole environment; nil inherits this process's but for proxies,
	// which have no part in what goes on between programs of one machine.
	Env []string
	// Attr adds namespaces; process group and parent-death signal are always set.
	Attr *syscall.SysProcAttr
	// Once forbids a restart after an unexpected exit.
	Once bool
}

// Group keeps processes whose records and logs share two folders.
type Group struct {
	records, logs string
	spawn         chan func()
}

// NewGroup answers a group that writes records and logs below dir.
func NewGroup(dir string) (*Group, error) {
	g := &Group{records: filepath.Join(dir, "pids"), logs: filepath.Join(dir, "logs"), spawn: make(chan func())}
	for _, d := range []string{g.records, g.logs} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("creating a process group's folder: %w", err)
		}
	}
	// The parent-death signal is tied to the thread that forks, so all forks
	// happen on one thread that lives as long as this program.
	go func() {
		runtime.LockOSThread()
		for f := range g.spawn {
			f()
		}
	}()
	return g, nil
}

// Process is one running program.
type Process struct {
	spec   Spec
	group  *Group
	cancel context.CancelFunc
	ended  chan struct{}

	mu  sync.Mutex
	pid int
	err error
}

// restartDelay keeps a program that dies at once from taking a whole core.
const restartDelay = time.Second

// Start runs the program until Stop, restarting it when it dies by itself
// unless the spec says Once.
func (g *Group) Start(spec Spec) (*Process, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Process{spec: spec, group: g, cancel: cancel, ended: make(chan struct{})}
	cmd, err := p.launch()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	go p.keep(ctx, cmd)
	return p, nil
}

func (p *Process) keep(ctx context.Context, cmd *exec.Cmd) {
	defer close(p.ended)
	for {
		err := cmd.Wait()
		if rmErr := os.Remove(p.recordPath()); rmErr != nil && !errors.Is(rmErr, os.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
		p.mu.Lock()
		p.err, p.pid = err, 0
		p.mu.Unlock()
		if ctx.Err() != nil || p.spec.Once {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartDelay):
		}
		if cmd, err = p.launch(); err != nil {
			p.mu.Lock()
			p.err = err
			p.mu.Unlock()
			return
		}
	}
}

// launch forks the program on the group's thread and records it.
func (p *Process) launch() (*exec.Cmd, error) {
	log, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.spec.Env, log, log
	if cmd.Env == nil {
		cmd.Env = WithoutProxies(os.Environ())
	}
	attr := syscall.SysProcAttr{}
	if p.spec.Attr != nil {
		attr = *p.spec.Attr
	}
	attr.Setpgid, attr.Pdeathsig = true, syscall.SIGKILL
	cmd.SysProcAttr = &attr
	started := make(chan error)
	p.group.spawn <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	if err := record(p.recordPath(), cmd.Process.Pid); err != nil {
		return nil, errors.Join(fmt.Errorf("recording the process: %w", err), cmd.Process.Kill())
	}
	p.mu.Lock()
	p.pid = cmd.Process.Pid
	p.mu.Unlock()
	return cmd, nil
}

// Stop asks the program to end and kills it after the grace period; it returns
// once the program is gone.
func (p *Process) Stop(grace time.Duration) {
	p.cancel()
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return
	case <-time.After(grace):
	}
	for {
		p.Signal(syscall.SIGKILL)
		select {
		case <-p.ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Signal sends a signal to the program's process group; a program that is not
// running at the moment is left alone.
func (p *Process) Signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		signalGroup(p.pid, sig)
	}
}

// signalGroup ignores the one possible failure, that the group is gone.
func signalGroup(pid int, sig syscall.Signal) {
	if err := syscall.Kill(-pid, sig); err != nil {
		return
	}
}

// Ended is closed when the program has ended and will not be restarted.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err is how the program last ended; nil while it never did or ended well.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// LogPath is the file that takes the program's output.
func (p *Process) LogPath() string { return filepath.Join(p.group.logs, p.spec.Name+".log") }

func (p *Process) recordPath() string { return filepath.Join(p.group.records, p.spec.Name) }
