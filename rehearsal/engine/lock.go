package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ray-on-aks/rehearsal/interrupted"
	"ray-on-aks/rehearsal/process"
)

// Lock makes this program the only one that uses the rehearsal's engine until
// it ends; told is called once if it has to wait. What a killed predecessor
// left is cleared away: an engine that still runs, its lock on the stack, and
// what it has not seen the end of.
func (e *Engine) Lock(ctx context.Context, told func()) error {
	f, err := os.OpenFile(e.Dir.Join("engine.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	for waited := false; ; waited = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return errors.Join(fmt.Errorf("locking the rehearsal's engine: %w", err), f.Close())
		}
		if !waited {
			told()
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), f.Close())
		case <-time.After(200 * time.Millisecond):
		}
	}
	e.lock = f // held until the process ends
	if _, err := process.SweepChildren(string(e.Dir), "pulumi", 20*time.Second); err != nil {
		return err
	}
	return e.mend(ctx)
}

// mend frees the stack of the update that an engine was killed in, and finds out
// what became of what it was about to create. Nobody else can be in an update:
// this program holds the engine.
func (e *Engine) mend(ctx context.Context) error {
	broken, err := e.brokenOff()
	if err != nil || !broken {
		return err
	}
	_, _, err = interrupted.Recover(ctx, func(ctx context.Context, args ...string) ([]byte, error) {
		var out, problems bytes.Buffer
		cmd := e.stackCommand(ctx, args...)
		cmd.Stdout, cmd.Stderr = &out, &problems
		if err := e.run(cmd); err != nil {
			return nil, fmt.Errorf("pulumi %s: %w\n%s%s", args[0], err, out.String(), problems.String())
		}
		return out.Bytes(), nil
	})
	return err
}

// brokenOff says whether an engine has left its lock on a stack, or operations
// that it has not seen the end of.
func (e *Engine) brokenOff() (bool, error) {
	found := false
	err := filepath.WalkDir(e.Dir.Join("state", ".pulumi", "locks"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = found || err == nil && !d.IsDir() && strings.HasSuffix(path, ".json")
		return err
	})
	if err != nil || found {
		return found, err
	}
	state, err := os.ReadFile(e.Dir.Join("state", ".pulumi", "stacks", project, e.Stack+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Contains(state, []byte(`"pending_operations"`)), err
}
