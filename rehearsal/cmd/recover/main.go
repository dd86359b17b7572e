// The recover command mends a stack whose engine was killed in an update, so
// that a plain `pulumi up` goes on: it takes the lock away, finds out which of the
// resources that were about to be created are there, and has Helm forget what it was
// in the middle of.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"ray-on-aks/rehearsal/interrupted"
	"ray-on-aks/rehearsal/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stack := flag.String("stack", "", "the stack to mend")
	yes := flag.Bool("yes", false, "nobody is updating the stack")
	flag.Parse()
	if err := run(ctx, *stack, *yes); err != nil {
		fmt.Fprintln(os.Stderr, "recover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stack string, yes bool) error {
	if !yes {
		return fmt.Errorf("this cancels whatever update of %s is under way, also a colleague's; if there is none, repeat it with YES=1", stack)
	}
	mended, err := interrupted.Recover(ctx, func(ctx context.Context, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "pulumi", append(args, "--stack", stack, "--non-interactive")...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		// Of its own group, and asked to end: killed, it would leave what this mends.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		process.Interruptible(cmd, time.Minute)
		err := cmd.Run()
		return out.Bytes(), err
	})
	for _, found := range []struct {
		what  string
		names []string
	}{{"looked for", mended.Adopted}, {"to be created again", mended.Dropped}, {"Helm's record of what broke off, deleted", mended.Struck}} {
		for _, name := range found.names {
			fmt.Printf("%s: %s\n", found.what, name)
		}
	}
	if err != nil {
		return err
	}
	if mended.Unasked != nil {
		fmt.Printf("Helm's records were not looked at: %v\n", mended.Unasked)
	}
	fmt.Printf("%s is ready for the next pulumi up\n", stack)
	return nil
}
