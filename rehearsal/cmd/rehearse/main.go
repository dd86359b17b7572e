// The rehearse command runs the project's Pulumi program on this machine: real
// engine, Kubernetes, Kueue and KubeRay; simulated nodes; emulated Azure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ray-on-aks/rehearsal/pods"
)

const usage = `usage: rehearse [-root DIR] [-dir DIR] [-stack NAME] [-ray DIR] [-upgrades] COMMAND

  up          bring the stack up and wait for its jobs
  status      show the jobs of a rehearsal that is up
  down        end the rehearsal and remove all that it made
  pulumi ...  run a pulumi command on the rehearsal, e.g. pulumi preview --diff
  preview BASE FILE
              write what an update from the checkout BASE to this one would
              do, as pulumi's JSON, to FILE
  env         print what kubectl needs to reach the cluster, for eval
`

func main() {
	if len(os.Args) == 2 && os.Args[1] == pods.CheckArg {
		return
	}
	// The processes that stand in for pods are this program too.
	if len(os.Args) == 3 && os.Args[1] == "pod-init" {
		code, err := pods.Init(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, "sandbox:", err)
			code = 1
		}
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second interrupt ends this program at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("rehearse", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(flags.Output(), usage) }
	root := flags.String("root", ".", "folder of the checkout")
	dir := flags.String("dir", "", "folder of the rehearsal; default .rehearsal/main in the checkout")
	python := flags.String("ray", "", "environment of Python in which Ray is real; default: Ray is simulated")
	stack := flags.String("stack", "rehearsal", "stack to bring up")
	upgrades := flags.Bool("upgrades", false, "leave KubeRay to the stack, and run the operators' earlier releases, too")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	r, err := open(*root, *dir, *stack, *python)
	if err != nil {
		return err
	}
	r.upgrades = *upgrades
	rest := flags.Args()
	if len(rest) == 0 {
		flags.Usage()
		return errors.New("no command")
	}
	switch rest[0] {
	case "up":
		return r.up(ctx)
	case "status":
		return r.status(ctx)
	case "down":
		return r.down()
	case "supervise":
		return r.supervise(ctx)
	case "pulumi":
		return r.pulumi(ctx, rest[1:])
	case "preview":
		if len(rest) != 3 {
			return errors.New("preview takes a checkout and a file")
		}
		return r.preview(ctx, rest[1], rest[2])
	case "env":
		return r.env()
	}
	flags.Usage()
	return fmt.Errorf("unknown command %q", rest[0])
}
