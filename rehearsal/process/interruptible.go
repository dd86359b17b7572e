package process

import (
	"os"
	"os/exec"
	"time"
)

// Interruptible lets a command that is cancelled end by itself, and with it what it
// has started, before it is killed after the grace period.
func Interruptible(cmd *exec.Cmd, grace time.Duration) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
}
