package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

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
	// Plugins do not all end with the engine that started them.
	if _, err := process.SweepEnv(envHome+"="+e.Env()[envHome], 5*time.Second); err != nil {
		return err
	}
	return e.mend(ctx)
}
