// The recover command mends a stack whose engine was killed in an update, so
// that a plain `pulumi up` goes on: it takes the lock away and finds out which
// of the resources that were about to be created are there.
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

	"ray-on-aks/rehearsal/interrupted"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	stack := flag.String("stack", "", "the stack to mend")
	flag.Parse()
	if err := run(ctx, *stack); err != nil {
		fmt.Fprintln(os.Stderr, "recover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stack string) error {
	adopted, dropped, err := interrupted.Recover(ctx, func(ctx context.Context, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "pulumi", append(args, "--stack", stack, "--non-interactive")...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		err := cmd.Run()
		return out.Bytes(), err
	})
	if err != nil {
		return err
	}
	for _, urn := range adopted {
		fmt.Println("looked for:", urn)
	}
	for _, urn := range dropped {
		fmt.Println("to be created again:", urn)
	}
	fmt.Printf("%s is ready for the next pulumi up\n", stack)
	return nil
}
