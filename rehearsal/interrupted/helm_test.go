package interrupted

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// state is a stack with an operator in a namespace of its own, one in Kubernetes'
// own, and a tenant; an upgrade of the first was broken off.
const state = `{"deployment": {"resources": [
  {"type": "kubernetes:core/v1:Namespace", "inputs": {"metadata": {"name": "kueue-system", "labels": {"a": "b"}}}},
  {"type": "kubernetes:core/v1:Namespace", "inputs": {"metadata": {"name": "ray-a", "labels": {"ray-on-aks/tenant": "a"}}}},
  {"type": "kubernetes:helm.sh/v3:Release", "inputs": {"name": "plugin", "namespace": "kube-system"}}
 ], "pending_operations": [
  {"type": "updating", "resource": {"urn": "the-release", "type": "kubernetes:helm.sh/v3:Release", "inputs": {"name": "kueue", "namespace": "kueue-system"}}}
 ]}}`

func decoded(t *testing.T, text string) (b books) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// record is what Helm keeps of a release.
func record(namespace, release, version, status string) runtime.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "sh.helm.release.v1." + release + "." + version,
		Labels: map[string]string{"owner": "helm", "name": release, "status": status},
	}}
}

func TestRecordsOfWhatBrokeOffGo(t *testing.T) {
	client := fake.NewSimpleClientset(
		record("kueue-system", "kueue", "v1", "superseded"), record("kueue-system", "kueue", "v2", "deployed"),
		record("kueue-system", "kueue", "v3", "pending-upgrade"),
		// Its provider was killed, and the engine remembers nothing.
		record("kueue-system", "another", "v1", "pending-install"),
		record("kube-system", "plugin", "v1", "pending-rollback"),
		// Somebody else's, under way.
		record("kube-system", "theirs", "v1", "pending-install"), record("ray-a", "theirs", "v1", "pending-install"),
		record("default", "theirs", "v1", "pending-install"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "certificate"}},
	)
	struck, err := decoded(t, state).strikeOut(t.Context(), client)
	want := []string{"kube-system/sh.helm.release.v1.plugin.v1", "kueue-system/sh.helm.release.v1.another.v1", "kueue-system/sh.helm.release.v1.kueue.v3"}
	if slices.Sort(struck); err != nil || !slices.Equal(struck, want) {
		t.Errorf("struck %v, %v, want %v", struck, err, want)
	}
	left, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 6 {
		t.Errorf("%d Secrets are left, want 6; %v", len(left.Items), err)
	}
}

// A cluster that is gone matters only if the engine knows that Helm was at work.
func TestAClusterThatDoesNotAnswer(t *testing.T) {
	client := fake.NewSimpleClientset()
	client.PrependReactor("list", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	b := decoded(t, state)
	if _, err := b.strikeOut(t.Context(), client); err == nil || !strings.Contains(err.Error(), "the-release") {
		t.Errorf("got %v", err)
	}
	b.Deployment.Pending = nil
	if struck, err := b.strikeOut(t.Context(), client); err != nil || struck != nil {
		t.Errorf("struck %v, %v", struck, err)
	}
}

func TestTheClusterIsThatOfTheStacksProvider(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {server: "https://127.0.0.1:1"}}]}`
	secret, err := json.Marshal(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(string(secret))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"plain": string(secret), "secret": `{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": ` + string(quoted) + `}`} {
		b := decoded(t, `{"deployment": {"resources": [{"type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": `+value+`}}]}}`)
		if client, err := b.client(); err != nil || client == nil {
			t.Errorf("%s: %v, %v", name, client, err)
		}
	}
	if client, err := decoded(t, `{"deployment": {"resources": []}}`).client(); err != nil || client != nil {
		t.Errorf("without a provider: %v, %v", client, err)
	}
	b := decoded(t, `{"deployment": {"resources": [{"urn": "p", "type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": {"ciphertext": "x"}}}]}}`)
	if _, err := b.client(); err == nil || !strings.Contains(err.Error(), "kubeconfig of p") {
		t.Errorf("a kubeconfig that cannot be read: %v", err)
	}
}
