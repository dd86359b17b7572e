// Package langhost is a Pulumi language host for Go: it builds and runs Go
// programs for the engine. The one that Pulumi ships is in no module of its
// own; this does what running a program needs, and leaves out what generates
// code.
package langhost

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Version is what the host calls itself: the version of the Pulumi SDK that it
// is built with.
const Version = "3.274.1"

// Host serves the engine's LanguageRuntime protocol.
type Host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer

	mu      sync.Mutex
	engine  string
	modules map[string][]module

	// stopping ends when the engine cancels or is gone.
	stopping context.Context
	stop     context.CancelFunc
}

// New makes a host for the engine at an address, which may come later, by
// Handshake.
func New(ctx context.Context, engine string) *Host {
	stopping, stop := context.WithCancel(ctx)
	return &Host{engine: engine, modules: map[string][]module{}, stopping: stopping, stop: stop}
}

// Handshake takes the engine's address.
func (h *Host) Handshake(_ context.Context, r *pulumirpc.LanguageHandshakeRequest) (*pulumirpc.LanguageHandshakeResponse, error) {
	if address := r.GetEngineAddress(); address != "" {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.engine = address
	}
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo answers the host's version.
func (h *Host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: Version}, nil
}

// Cancel interrupts what is running.
func (h *Host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	h.stop()
	return &emptypb.Empty{}, nil
}

// About answers the Go toolchain that builds programs.
func (h *Host) About(ctx context.Context, _ *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("finding go: %w", err)
	}
	version, err := exec.CommandContext(ctx, path, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("asking go for its version: %w", err)
	}
	return &pulumirpc.AboutResponse{
		Executable: path, Version: strings.TrimSpace(string(version)),
		Metadata: map[string]string{"host": "ray-on-aks rehearsal, sdk " + Version, "os": runtime.GOOS},
	}, nil
}

// InstallDependencies downloads the program's modules.
func (h *Host) InstallDependencies(r *pulumirpc.InstallDependenciesRequest, stream pulumirpc.LanguageRuntime_InstallDependenciesServer) error {
	cmd := exec.CommandContext(stream.Context(), "go", "mod", "download")
	cmd.Dir = r.GetInfo().GetProgramDirectory()
	out, err := cmd.CombinedOutput()
	if len(out) > 0 {
		if err := stream.Send(&pulumirpc.InstallDependenciesResponse{Stdout: out}); err != nil {
			return fmt.Errorf("reporting on dependencies: %w", err)
		}
	}
	if err != nil {
		return fmt.Errorf("downloading modules: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// until bounds ctx by the host's own end.
func (h *Host) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(h.stopping, cancel)
	return ctx, func() { detach(); cancel() }
}
