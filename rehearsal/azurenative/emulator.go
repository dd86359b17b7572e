package azurenative

import (
	"context"
	"errors"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/provider"
)

const (
	defaultSubscription = "00000000-0000-4000-8000-00000000e117"
	defaultTenant       = "00000000-0000-4000-8000-00000000e118"
	defaultHold         = 300 * time.Millisecond
)

// Options are what an emulator needs from its surroundings.
type Options struct {
	// Dir is the rehearsal's folder, as package layout has it.
	Dir string
	// Waiter waits for control planes. Nil: for the supervisor's kubeconfig
	// files.
	Waiter ClusterWaiter
	// CredentialHold is how long a write to an identity's credentials stays in
	// flight. 0: 300 ms.
	CredentialHold time.Duration
	// Fault may refuse an operation; it is where faults are injected. Nil: those
	// of the file that layout.Dir.Faults names, if there is one.
	Fault func(ctx context.Context, operation Operation) error
}

// Operation is what Options.Fault is asked about.
type Operation struct {
	// Verb is create, read, update or delete.
	Verb string
	// Type is the resource's token, ID its ARM id.
	Type, ID string
	// Accepted says that the cloud has taken the operation, which may still fail
	// on its way. Every one is asked about before that.
	Accepted bool
}

// emulator is the emulated azure-native over the emulated cloud.
type emulator struct {
	options Options
	store   *cloud.Store
	config  config
}

// New makes the emulated azure-native provider.
func New(options Options) (plugin.Provider, error) {
	table, err := loadInputTable()
	if err != nil {
		return nil, err
	}
	if options.Waiter == nil {
		options.Waiter = kubeconfigWaiter{dir: options.Dir, ready: readyLimit, gone: goneLimit}
	}
	if options.Fault == nil {
		filed := filedFaults{path: layout.Dir(options.Dir).Faults(), seen: map[int]int{}}
		options.Fault = filed.ask
	}
	if options.CredentialHold == 0 {
		options.CredentialHold = defaultHold
	}
	e := &emulator{options: options, store: cloud.Open(layout.Dir(options.Dir).Cloud())}
	kinds := map[string]provider.Kind{}
	for token, spec := range specs {
		kinds[token] = e.kind(token, spec, table)
	}
	made, err := provider.New(provider.Spec{
		Name: "azure-native", Version: Version, Kinds: kinds, Functions: e.functions(), Configure: e.configure,
	})
	if err != nil {
		return nil, err
	}
	return nullChecking{Provider: made, table: table}, nil
}

// configure takes the provider's configuration. Nothing is read from the
// environment: a real subscription that happens to be set there has no place
// in a rehearsal.
func (e *emulator) configure(given map[string]any) error {
	if e.options.Dir == "" {
		return errors.New(layout.EnvDir + " is not set: the emulated cloud belongs to a rehearsal; run `make rehearse`")
	}
	e.config = config{subscription: defaultSubscription, tenant: defaultTenant, location: text(given, "location")}
	if subscription := text(given, "subscriptionId"); subscription != "" {
		e.config.subscription = subscription
	}
	if tenant := text(given, "tenantId"); tenant != "" {
		e.config.tenant = tenant
	}
	return nil
}

func (e *emulator) kind(token string, spec spec, table inputTable) provider.Kind {
	path := map[string]bool{}
	for _, key := range spec.pathKeys() {
		path[key] = true
	}
	check := validator{table: table, token: token, path: path, names: spec.names, extra: spec.extra}
	of := lifecycle{emulator: e, token: token, spec: spec, table: table}
	return provider.Kind{
		NameKey: spec.nameKey, AutoName: spec.autoName, IDKeys: spec.pathKeys(), ReplaceOn: spec.replaceOn,
		Check: check.check, Preview: of.preview, Create: of.create, Read: of.read, Update: of.update, Delete: of.delete,
	}
}
