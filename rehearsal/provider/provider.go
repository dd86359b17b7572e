package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
)

// Spec describes an emulated provider.
type Spec struct {
	// Name is the package's name, e.g. azure-native.
	Name string
	// Version is the version of the provider that is emulated.
	Version string
	// Kinds are the emulated resource types by token.
	Kinds map[string]Kind
	// Functions are the emulated invokes by token.
	Functions map[string]Function
	// Configure is given the provider's configuration before any other
	// operation. Nil: there is none.
	Configure func(config map[string]any) error
}

// Provider serves a Spec to the Pulumi engine.
type Provider struct {
	plugin.UnimplementedProvider

	spec    Spec
	version semver.Version

	// cancelled is closed when the engine asks to stop what is under way.
	cancelled  chan struct{}
	cancelOnce sync.Once
}

// New makes the provider of a spec.
func New(spec Spec) (*Provider, error) {
	version, err := semver.Parse(spec.Version)
	if err != nil {
		return nil, fmt.Errorf("parsing the version of %s: %w", spec.Name, err)
	}
	return &Provider{spec: spec, version: version, cancelled: make(chan struct{})}, nil
}

// Handshake tells the engine what the provider understands.
func (p *Provider) Handshake(context.Context, plugin.ProviderHandshakeRequest) (*plugin.ProviderHandshakeResponse, error) {
	return &plugin.ProviderHandshakeResponse{
		AcceptSecrets: true, AcceptResources: true, AcceptOutputs: true,
		SupportsAutonamingConfiguration: true,
	}, nil
}

// GetPluginInfo answers the emulated version.
func (p *Provider) GetPluginInfo(context.Context) (plugin.PluginInfo, error) {
	return plugin.PluginInfo{Version: &p.version}, nil
}

// GetSchema answers a schema without types: the emulator is for programs that
// have their SDK already.
func (p *Provider) GetSchema(context.Context, plugin.GetSchemaRequest) (plugin.GetSchemaResponse, error) {
	schema, err := json.Marshal(map[string]string{
		"name": p.spec.Name, "version": p.spec.Version,
		"description": "emulated " + p.spec.Name + ", for rehearsals only",
	})
	return plugin.GetSchemaResponse{Schema: schema}, err
}

// CheckConfig accepts the provider's configuration as it is.
func (p *Provider) CheckConfig(_ context.Context, r plugin.CheckConfigRequest) (plugin.CheckConfigResponse, error) {
	return plugin.CheckConfigResponse{Properties: r.News}, nil
}

// DiffConfig never replaces a provider: the emulated cloud is the same one
// whatever its credentials.
func (p *Provider) DiffConfig(_ context.Context, r plugin.DiffConfigRequest) (plugin.DiffConfigResponse, error) {
	return diff(r.OldInputs, r.NewInputs, r.IgnoreChanges, Kind{})
}

// Configure hands the configuration to the emulation.
func (p *Provider) Configure(_ context.Context, r plugin.ConfigureRequest) (plugin.ConfigureResponse, error) {
	if p.spec.Configure == nil {
		return plugin.ConfigureResponse{}, nil
	}
	if err := p.spec.Configure(Plain(r.Inputs)); err != nil {
		return plugin.ConfigureResponse{}, fmt.Errorf("configuring the emulated %s: %w", p.spec.Name, err)
	}
	return plugin.ConfigureResponse{}, nil
}

// Invoke calls an emulated function.
func (p *Provider) Invoke(ctx context.Context, r plugin.InvokeRequest) (plugin.InvokeResponse, error) {
	function, ok := p.spec.Functions[string(r.Tok)]
	if !ok {
		return plugin.InvokeResponse{}, p.notEmulated("function", string(r.Tok), slices.Collect(maps.Keys(p.spec.Functions)))
	}
	ctx, stop := p.operation(ctx, 0)
	defer stop()
	result, err := function(ctx, Plain(r.Args))
	if err != nil {
		return plugin.InvokeResponse{}, err
	}
	return plugin.InvokeResponse{Properties: properties(result)}, nil
}

// SignalCancellation ends every wait of an operation under way.
func (p *Provider) SignalCancellation(context.Context) error {
	p.cancelOnce.Do(func() { close(p.cancelled) })
	return nil
}

// Attach accepts an engine that did not start this process.
func (p *Provider) Attach(string) error { return nil }

// Close has nothing to release: every operation closes what it opens.
func (p *Provider) Close() error { return nil }

func (p *Provider) kind(token string) (Kind, error) {
	kind, ok := p.spec.Kinds[token]
	if !ok {
		return Kind{}, p.notEmulated("resource type", token, slices.Collect(maps.Keys(p.spec.Kinds)))
	}
	return kind, nil
}

func (p *Provider) notEmulated(what, token string, emulated []string) error {
	slices.Sort(emulated)
	return fmt.Errorf("emulated %s: %s %q is not emulated; emulated are:\n  %s",
		p.spec.Name, what, token, strings.Join(emulated, "\n  "))
}

// operation bounds ctx by the engine's timeout in seconds (0: none) and by its
// cancellation.
func (p *Provider) operation(ctx context.Context, timeout float64) (context.Context, context.CancelFunc) {
	cancel := context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(timeout*float64(time.Second)))
	}
	ctx, cancelCause := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		select {
		case <-p.cancelled:
			cancelCause(fmt.Errorf("cancelled: %w", context.Canceled))
		case <-done:
		}
	}()
	var once sync.Once
	return ctx, func() { once.Do(func() { close(done); cancelCause(nil); cancel() }) }
}
