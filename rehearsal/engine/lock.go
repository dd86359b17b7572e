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

	"ray-on-aks/rehearsal/process"
)

// Lock makes this program the only one that uses the rehearsal's engine until
// it ends; told is called once if it has to wait. What a killed predecessor
// left is cleared away: an engine that still runs, and its lock on the stack.
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
	return e.clearStackLock(ctx)
}

// clearStackLock cancels the update that an engine was killed in. Nobody else
// can be in one: this program holds the engine.
func (e *Engine) clearStackLock(ctx context.Context) error {
	locked := false
	err := filepath.WalkDir(e.Dir.Join("state", ".pulumi", "locks"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		locked = locked || err == nil && !d.IsDir() && strings.HasSuffix(path, ".json")
		return err
	})
	if err != nil || !locked {
		return err
	}
	var out bytes.Buffer
	cmd := e.stackCommand(ctx, "cancel", "--yes")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := e.run(cmd); err != nil {
		return fmt.Errorf("cancelling the update that was broken off: %w\n%s", err, out.String())
	}
	return nil
}
