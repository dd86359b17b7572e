package azurenative_test

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"ray-on-aks/rehearsal/azurenative"
	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/provider"
)

// instantly is a ClusterWaiter without a supervisor.
type instantly struct {
	mu    sync.Mutex
	gone  []string
	ready error
}

func (w *instantly) Ready(context.Context, string) error { return w.ready }

func (w *instantly) Gone(_ context.Context, cluster string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, cluster)
	return nil
}

// harness speaks to an emulator as the engine does.
type harness struct {
	t        *testing.T
	provider plugin.Provider
	store    *cloud.Store
	waiter   *instantly
}

func newHarness(t *testing.T, change ...func(*azurenative.Options)) *harness {
	t.Helper()
	options := azurenative.Options{Dir: t.TempDir(), CredentialHold: 20 * time.Millisecond}
	waiter := &instantly{}
	options.Waiter = waiter
	for _, apply := range change {
		apply(&options)
	}
	emulated, err := azurenative.New(options)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, provider: dial(t, emulated), waiter: waiter,
		store: cloud.Open(filepath.Join(options.Dir, "cloud.json"))}
	address, name, token, id := urn("pulumi:providers:azure-native"), "it", tokens.Type("pulumi:providers:azure-native"), resource.ID("id")
	_, err = h.provider.Configure(t.Context(), plugin.ConfigureRequest{URN: &address, Name: &name, Type: &token, ID: &id,
		Inputs: properties(map[string]any{"subscriptionId": "11111111-2222-3333-4444-555555555555"})})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// dial serves p over a real gRPC connection and answers its client.
func dial(t *testing.T, p plugin.Provider) plugin.Provider {
	t.Helper()
	cancel := make(chan bool)
	served, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{Cancel: cancel, Init: func(server *grpc.Server) error {
		pulumirpc.RegisterResourceProviderServer(server, provider.NewServer(p))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient("127.0.0.1:"+itoa(served.Port), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
		close(cancel)
		if err := <-served.Done; err != nil {
			t.Error(err)
		}
	})
	client := plugin.NewProviderWithClient(nil, pulumirpc.NewResourceProviderClient(connection), false)
	if _, err := client.Handshake(t.Context(), plugin.ProviderHandshakeRequest{}); err != nil {
		t.Fatal(err)
	}
	return client
}

// made is a resource as the engine's state has it.
type made struct {
	token           string
	id              resource.ID
	inputs, outputs resource.PropertyMap
}

func urn(token string) resource.URN {
	return resource.NewURN("test", "ray-on-aks", "", tokens.Type(token), "it")
}

func properties(values map[string]any) resource.PropertyMap {
	return resource.NewPropertyMapFromMap(values)
}

// check answers "path: reason" of each failure.
func (h *harness) check(token string, inputs resource.PropertyMap) (resource.PropertyMap, []string) {
	h.t.Helper()
	answer, err := h.provider.Check(h.t.Context(), plugin.CheckRequest{
		URN: urn(token), Name: "it", Type: tokens.Type(token), News: inputs, AllowUnknowns: true, RandomSeed: []byte("seed")})
	if err != nil {
		h.t.Fatal(err)
	}
	var failures []string
	for _, failure := range answer.Failures {
		failures = append(failures, string(failure.Property)+": "+failure.Reason)
	}
	return answer.Properties, failures
}

func (h *harness) tryCreate(token string, inputs map[string]any) (made, error) {
	h.t.Helper()
	checked, failures := h.check(token, properties(inputs))
	if failures != nil {
		return made{}, errors.New(strings.Join(failures, "\n"))
	}
	request := createRequest(token, nil)
	request.Properties = checked
	answer, err := h.provider.Create(h.t.Context(), request)
	return made{token: token, id: answer.ID, inputs: checked, outputs: answer.Properties}, err
}

func (h *harness) create(token string, inputs map[string]any) made {
	h.t.Helper()
	m, err := h.tryCreate(token, inputs)
	if err != nil {
		h.t.Fatalf("creating %s: %v", token, err)
	}
	return m
}

func createRequest(token string, inputs map[string]any) plugin.CreateRequest {
	return plugin.CreateRequest{URN: urn(token), Name: "it", Type: tokens.Type(token), Properties: properties(inputs)}
}

func (h *harness) delete(m made) error {
	_, err := h.provider.Delete(h.t.Context(), plugin.DeleteRequest{URN: urn(m.token), Name: "it", Type: tokens.Type(m.token),
		ID: m.id, Inputs: m.inputs, Outputs: m.outputs})
	return err
}

func (h *harness) update(m made, inputs resource.PropertyMap) (made, error) {
	answer, err := h.provider.Update(h.t.Context(), plugin.UpdateRequest{URN: urn(m.token), Name: "it", Type: tokens.Type(m.token),
		ID: m.id, OldInputs: m.inputs, OldOutputs: m.outputs, NewInputs: inputs})
	return made{token: m.token, id: m.id, inputs: inputs, outputs: answer.Properties}, err
}

func (h *harness) read(m made) made {
	h.t.Helper()
	answer, err := h.provider.Read(h.t.Context(), plugin.ReadRequest{URN: urn(m.token), Name: "it", Type: tokens.Type(m.token),
		ID: m.id, Inputs: m.inputs, State: m.outputs})
	if err != nil {
		h.t.Fatal(err)
	}
	return made{token: m.token, id: answer.ID, inputs: answer.Inputs, outputs: answer.Outputs}
}

func (h *harness) diff(old made, inputs resource.PropertyMap, ignore ...string) plugin.DiffResult {
	h.t.Helper()
	answer, err := h.provider.Diff(h.t.Context(), plugin.DiffRequest{URN: urn(old.token), Name: "it", Type: tokens.Type(old.token),
		ID: old.id, OldInputs: old.inputs, OldOutputs: old.outputs, NewInputs: inputs, AllowUnknowns: true, IgnoreChanges: ignore})
	if err != nil {
		h.t.Fatal(err)
	}
	return answer
}

// edit changes a live record behind the engine's back.
func (h *harness) edit(id resource.ID, change func(outputs map[string]any)) {
	h.t.Helper()
	err := h.store.Update(func(resources cloud.Resources) error {
		record, ok := resources[string(id)]
		if !ok {
			return errors.New("no record " + string(id))
		}
		change(record.Outputs)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) count() (n int) {
	h.t.Helper()
	if err := h.store.View(func(resources cloud.Resources) error { n = len(resources); return nil }); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// with answers a copy of values with some replaced; nil removes a key.
func with(values map[string]any, changes map[string]any) map[string]any {
	out := maps.Clone(values)
	for key, value := range changes {
		out[key] = value
		if value == nil {
			delete(out, key)
		}
	}
	return out
}
