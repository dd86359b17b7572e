package azurenative_test

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"ray-on-aks/rehearsal/azurenative"
)

// supervised is an emulator that goes by the kubeconfig file.
func supervised(t *testing.T) (h *harness, kubeconfig string) {
	dir := t.TempDir()
	h = newHarness(t, func(o *azurenative.Options) { o.Dir, o.Waiter = dir, nil })
	kubeconfig = filepath.Join(dir, "clusters", "aks-ray", "kubeconfig")
	if err := os.MkdirAll(filepath.Dir(kubeconfig), 0o700); err != nil {
		t.Fatal(err)
	}
	return h, kubeconfig
}

const credentialsToken = "azure-native:containerservice/v20240901:listManagedClusterUserCredentials"

func (h *harness) invoke(token string, args map[string]any) (plugin.InvokeResponse, error) {
	return h.provider.Invoke(h.t.Context(), plugin.InvokeRequest{Tok: tokens.ModuleMember(token), Args: properties(args)})
}

// The cluster is created once its kubeconfig is there and deleted once it is
// gone; between the two its credentials can be had.
func TestClusterFollowsItsKubeconfig(t *testing.T) {
	h, kubeconfig := supervised(t)
	h.create(azurenative.ResourceGroup, group())
	named := map[string]any{"resourceGroupName": "rg-ray", "resourceName": "aks-ray"}
	_, err := h.invoke(credentialsToken, named)
	refused(t, err, "404", "ResourceNotFound")

	errs := make(chan error, 2)
	time.AfterFunc(150*time.Millisecond, func() { errs <- os.WriteFile(kubeconfig, []byte("kind: Config\n"), 0o600) })
	made := h.create(azurenative.ManagedCluster, cluster())
	for _, token := range []string{credentialsToken, "azure-native:containerservice:listManagedClusterUserCredentials"} {
		answer, err := h.invoke(token, named)
		if err != nil {
			t.Fatal(err)
		}
		value := answer.Properties["kubeconfigs"].ArrayValue()[0].ObjectValue()["value"].StringValue()
		if text, err := base64.StdEncoding.DecodeString(value); err != nil || string(text) != "kind: Config\n" {
			t.Errorf("the kubeconfig is %q, %v", text, err)
		}
	}
	_, err = h.invoke(credentialsToken, with(named, map[string]any{"resourceNam": "x"}))
	refused(t, err, "resourceNam", `did you mean "resourceName"`)

	start := time.Now()
	time.AfterFunc(150*time.Millisecond, func() { errs <- os.Remove(kubeconfig) })
	if err := errors.Join(h.delete(made), <-errs, <-errs); err != nil {
		t.Fatal(err)
	}
	if time.Since(start) < 150*time.Millisecond {
		t.Error("deleted before the control plane was gone")
	}
}

// A cluster without a supervisor is recorded, so that the next update finishes
// it; the engine's cancellation ends the wait.
func TestUnreadyClusterIsKept(t *testing.T) {
	h := newHarness(t)
	h.waiter.ready = errors.New("not running; run `make rehearse`")
	h.create(azurenative.ResourceGroup, group())
	unready, err := h.tryCreate(azurenative.ManagedCluster, cluster())
	refused(t, err, "make rehearse")
	if unready.id == "" || !unready.outputs.HasValue("fqdn") {
		t.Fatalf("the engine does not learn of the cluster: %v", unready)
	}
	h.waiter.ready = nil
	if _, err := h.update(unready, unready.inputs); err != nil {
		t.Error(err)
	}

	waiting, _ := supervised(t)
	waiting.create(azurenative.ResourceGroup, group())
	time.AfterFunc(100*time.Millisecond, func() {
		if err := waiting.provider.SignalCancellation(context.Background()); err != nil {
			t.Error(err)
		}
	})
	_, err = waiting.tryCreate(azurenative.ManagedCluster, cluster())
	refused(t, err, "aks-ray", "cancel")
}

func TestClientConfig(t *testing.T) {
	h := newHarness(t)
	answer, err := h.invoke("azure-native:authorization:getClientConfig", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Properties["subscriptionId"].StringValue(); got != "11111111-2222-3333-4444-555555555555" {
		t.Errorf("the subscription is %s", got)
	}
	_, err = h.invoke("azure-native:compute:getSnapshot", nil)
	refused(t, err, "not emulated", credentialsToken)
}

func TestConfigureNeedsARehearsal(t *testing.T) {
	emulated, err := azurenative.New(azurenative.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = emulated.Configure(t.Context(), plugin.ConfigureRequest{})
	refused(t, err, "REHEARSAL_DIR is not set", "make rehearse")
}

func TestPluginInfo(t *testing.T) {
	info, err := newHarness(t).provider.GetPluginInfo(t.Context())
	if err != nil || info.Version.String() != azurenative.Version {
		t.Errorf("version %v, %v", info.Version, err)
	}
}
