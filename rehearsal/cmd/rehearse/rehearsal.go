package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ray-on-aks/rehearsal/atomicfile"
	"ray-on-aks/rehearsal/engine"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/pods"
	"ray-on-aks/rehearsal/process"
	"ray-on-aks/rehearsal/supervisor"
	"ray-on-aks/rehearsal/toolchain"
)

// rehearsal is one rehearsal of one checkout.
type rehearsal struct {
	root string
	// emulators is the checkout whose tools run the rehearsal; root's as a rule.
	emulators string
	dir       layout.Dir
	stack     string
	tools     *toolchain.Toolchain
	// bin is the folder of this executable and the emulated providers.
	bin string
	// python is the environment that a real Ray runs in; empty: Ray is simulated.
	python string
	// upgrades says that the stack installs KubeRay, and that earlier releases of
	// the operators can run.
	upgrades bool
}

func open(root, dir, stack, python string) (*rehearsal, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = filepath.Join(root, ".rehearsal", "main")
	}
	r := &rehearsal{root: root, emulators: root, stack: stack, python: python}
	if r.dir, err = layout.Open(dir); err != nil {
		return nil, err
	}
	if r.tools, err = toolchain.New(root, os.Stderr); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r.bin = filepath.Dir(self)
	return r, nil
}

// errRunning says that the rehearsal has a supervisor.
var errRunning = errors.New("this rehearsal has a supervisor already")

// lock makes the supervisor the only one of its rehearsal. The kernel lets go
// of it when the process ends, however it ends.
func (r *rehearsal) lock() (*os.File, error) {
	f, err := os.OpenFile(r.dir.Join("supervisor.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errRunning
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// supervise runs the supervisor in this process.
func (r *rehearsal) supervise(ctx context.Context) error {
	lock, err := r.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := atomicfile.Write(r.rayFile(), []byte(r.python)); err != nil {
		return err
	}
	s, err := supervisor.New(ctx, r.dir, r.tools, supervisor.Options{Python: r.python, Upgrades: r.upgrades}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// ensureSupervisor starts the supervisor in the background unless it runs.
func (r *rehearsal) ensureSupervisor() error {
	lock, err := r.lock()
	if errors.Is(err, errRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := lock.Close(); err != nil {
		return err
	}
	// Processes of a supervisor that was killed together with this machine's
	// session may be left.
	if _, err := process.Sweep(string(r.dir), 5*time.Second); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := pods.Supported(self); err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir.Join("logs"), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(r.supervisorLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "-root", r.emulators, "-dir", string(r.dir), "-ray", r.python, fmt.Sprintf("-upgrades=%v", r.upgrades), "supervise")
	cmd.Stdout, cmd.Stderr = log, log
	// A session of its own: it stays when the terminal goes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	return cmd.Process.Release()
}

// rayFile holds the environment that the supervisor runs Ray in.
func (r *rehearsal) rayFile() string { return r.dir.Join("python") }

// checkRay refuses a supervisor that runs with Ray of another kind than is
// asked for.
func (r *rehearsal) checkRay() error {
	lock, err := r.lock()
	if !errors.Is(err, errRunning) {
		if err == nil {
			err = lock.Close()
		}
		return err
	}
	python, err := os.ReadFile(r.rayFile())
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && string(python) == r.python:
		return nil // it is just starting, or the same
	case err != nil:
		return err
	}
	return errors.New("this rehearsal is up with Ray of the other kind, real or simulated; end it by `make rehearse-down` first")
}

func (r *rehearsal) supervisorLog() string { return r.dir.Join("logs", "supervisor.log") }

// down ends every process of the rehearsal, whatever state it is in, and
// removes its folder.
func (r *rehearsal) down() error {
	ended, err := process.Sweep(string(r.dir), 20*time.Second)
	if err != nil {
		return err
	}
	// Plugins of an engine that was killed are recorded nowhere.
	plugins, err := process.SweepEnv(layout.EnvDir+"="+string(r.dir), 5*time.Second)
	if err != nil {
		return err
	}
	if n := len(ended) + plugins; n > 0 {
		fmt.Printf("ended %d processes\n", n)
	}
	if err := r.dir.Remove(); err != nil {
		return err
	}
	fmt.Println("the rehearsal is down; built tools stay in", r.tools.Cache)
	return nil
}

// engine prepares the engine; fresh takes the stack file as it is now.
func (r *rehearsal) engine(ctx context.Context, fresh bool) (*engine.Engine, error) {
	e, err := engine.New(ctx, r.root, r.bin, r.dir, r.tools, r.stack)
	if err != nil {
		return nil, err
	}
	err = e.Lock(ctx, func() { fmt.Println("another command works on this rehearsal; waiting for it") })
	if err != nil {
		return nil, err
	}
	return e, e.Init(ctx, fresh)
}

// pulumi runs a pulumi command, for which the control plane must be there.
func (r *rehearsal) pulumi(ctx context.Context, args []string) error {
	e, err := r.engine(ctx, false)
	if err != nil {
		return err
	}
	if err := r.ensureSupervisor(); err != nil {
		return err
	}
	return e.Run(ctx, os.Stdout, args...)
}

// env prints what kubectl needs to reach the rehearsed cluster.
func (r *rehearsal) env() error {
	path := r.clusterKubeconfig()
	if path == "" {
		return errNoCluster
	}
	fmt.Printf("export KUBECONFIG='%s'\n", strings.ReplaceAll(path, "'", `'\''`))
	return nil
}
