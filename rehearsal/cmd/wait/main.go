// The wait command waits for a run of a stack: for a job until it has ended,
// for a service until it is ready. The stack's outputs come by standard input,
// as `pulumi stack output --json --show-secrets` prints them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"ray-on-aks/internal/strict"
	"ray-on-aks/rehearsal/report"
)

// requestTimeout bounds one question to the API server, which may have hung.
const requestTimeout = 30 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second interrupt ends this program at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "wait:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("wait", flag.ContinueOnError)
	job := flags.String("job", "", "workload to wait for, as the stack's configuration names it")
	deadline := flags.Duration("deadline", 4*time.Hour, "how long to wait at most")
	interval := flags.Duration("interval", 5*time.Second, "time between two looks")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *deadline <= 0 || *interval <= 0 {
		return fmt.Errorf("-deadline and -interval must be more than 0, got %s and %s", *deadline, *interval)
	}
	stack, err := read(in)
	if err != nil {
		return err
	}
	wanted, err := stack.find(*job)
	if err != nil {
		return err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(stack.Kubeconfig))
	if err != nil {
		return fmt.Errorf("the stack's output kubeconfig: %w", err)
	}
	config.Timeout = requestTimeout
	reader, err := report.NewReader(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *deadline)
	defer cancel()
	waiter := report.Waiter{Reader: reader, Workload: *job, Run: wanted, Interval: *interval, Progress: out}
	return waiter.Wait(ctx)
}

// outputs are those of a stack that matter here.
type outputs struct {
	Kubeconfig string                `json:"kubeconfig"`
	Runs       map[string]report.Run `json:"runs"`
}

// read never quotes what it reads: a kubeconfig is a secret.
func read(in io.Reader) (outputs, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return outputs{}, err
	}
	if len(strings.TrimSpace(string(data))) == 0 {
		return outputs{}, errors.New("no outputs came by standard input; is the stack up?")
	}
	var o outputs
	if err := json.Unmarshal(data, &o); err != nil {
		return outputs{}, fmt.Errorf("standard input is not the JSON of a stack's outputs: %w", err)
	}
	switch o.Kubeconfig {
	case "":
		return outputs{}, errors.New("the stack has no output kubeconfig; is it up?")
	case "[secret]":
		return outputs{}, errors.New("the kubeconfig is hidden; pass --show-secrets to pulumi stack output")
	}
	return o, nil
}

// find answers the run of that workload.
func (o outputs) find(job string) (report.Run, error) {
	if found, ok := o.Runs[job]; ok {
		return found, nil
	}
	known := slices.Sorted(maps.Keys(o.Runs))
	if len(known) == 0 {
		return report.Run{}, errors.New("the stack has no runs; enable one under workloads and run pulumi up")
	}
	list := strings.Join(known, ", ")
	if job == "" {
		return report.Run{}, fmt.Errorf("no job is named; the stack's are %s", list)
	}
	if near := strict.Nearest(job, known); near != "" {
		return report.Run{}, fmt.Errorf("there is no job %q in the stack, only %s; did you mean %s?", job, list, near)
	}
	return report.Run{}, fmt.Errorf("there is no job %q in the stack, only %s", job, list)
}
