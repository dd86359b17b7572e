package langhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/constant"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"ray-on-aks/rehearsal/process"
)

// grace is how long an interrupted program may take to end.
const grace = 10 * time.Second

// Run builds the program and runs it against the engine.
func (h *Host) Run(ctx context.Context, r *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	ctx, cancel := h.until(ctx)
	defer cancel()
	environment, err := h.environment(r)
	if err != nil {
		return nil, err
	}
	built, err := build(ctx, r.GetProject(), r.GetInfo())
	if err != nil {
		// As an answer, not as a failed call: so the text reaches the user.
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	}
	cmd := exec.CommandContext(ctx, built.path, r.GetArgs()...)
	cmd.Dir, cmd.Env = r.GetPwd(), append(os.Environ(), environment...)
	// The engine shows the user what this process writes.
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	process.Interruptible(cmd, grace)
	err = built.run(cmd)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}, nil
	case errors.As(err, &exit) && exit.ExitCode() == constant.ExitStatusLoggedError:
		// The program has told the engine already.
		return &pulumirpc.RunResponse{Bail: true}, nil
	case errors.As(err, &exit):
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("the program ended with %s", exit)}, nil
	default:
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	}
}

// environment is how the Go SDK learns of the run.
func (h *Host) environment(r *pulumirpc.RunRequest) ([]string, error) {
	config, err := json.Marshal(r.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	secretKeys, err := json.Marshal(r.GetConfigSecretKeys())
	if err != nil {
		return nil, fmt.Errorf("encoding the names of secrets: %w", err)
	}
	h.mu.Lock()
	engine := h.engine
	h.mu.Unlock()
	values := map[string]string{
		pulumi.EnvOrganization:        r.GetOrganization(),
		pulumi.EnvProject:             r.GetProject(),
		pulumi.EnvPulumiRootDirectory: r.GetInfo().GetRootDirectory(),
		pulumi.EnvStack:               r.GetStack(),
		pulumi.EnvConfig:              string(config),
		pulumi.EnvConfigSecretKeys:    string(secretKeys),
		pulumi.EnvDryRun:              strconv.FormatBool(r.GetDryRun()),
		pulumi.EnvParallel:            strconv.Itoa(int(r.GetParallel())),
		pulumi.EnvMonitor:             r.GetMonitorAddress(),
		pulumi.EnvEngine:              engine,
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if values[key] != "" {
			out = append(out, key+"="+values[key])
		}
	}
	return out, nil
}

// RunPlugin builds and runs a plugin that is written in Go, such as a policy
// pack.
func (h *Host) RunPlugin(r *pulumirpc.RunPluginRequest, stream pulumirpc.LanguageRuntime_RunPluginServer) error {
	ctx, cancel := h.until(stream.Context())
	defer cancel()
	built, err := build(ctx, r.GetName(), r.GetInfo())
	if err != nil {
		return err
	}
	sender := &sender{stream: stream}
	cmd := exec.CommandContext(ctx, built.path, r.GetArgs()...)
	cmd.Dir, cmd.Env = r.GetPwd(), append(os.Environ(), r.GetEnv()...)
	cmd.Stdout = writer(func(data []byte) error {
		return sender.send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Stdout{Stdout: data}})
	})
	cmd.Stderr = writer(func(data []byte) error {
		return sender.send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Stderr{Stderr: data}})
	})
	process.Interruptible(cmd, grace)
	err = built.run(cmd)
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		return err
	}
	return sender.send(&pulumirpc.RunPluginResponse{Output: &pulumirpc.RunPluginResponse_Exitcode{Exitcode: int32(code)}})
}

// sender makes a stream safe for two writers.
type sender struct {
	mu     sync.Mutex
	stream pulumirpc.LanguageRuntime_RunPluginServer
}

func (s *sender) send(response *pulumirpc.RunPluginResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream.Send(response)
}

type writer func([]byte) error

// Write sends a copy, since the caller reuses its buffer.
func (w writer) Write(data []byte) (int, error) {
	if err := w(bytes.Clone(data)); err != nil {
		return 0, fmt.Errorf("passing a plugin's output on: %w", err)
	}
	return len(data), nil
}
