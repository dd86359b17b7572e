package interrupted

import (
	"context"
	"encoding/json"
	"errors"
	"os"
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
// own, and a tenant; an upgrade of the first was broken off, and two installs.
const state = `{"deployment": {"resources": [
  {"type": "kubernetes:core/v1:Namespace", "inputs": {"metadata": {"name": "kueue-system", "labels": {"a": "b"}}}},
  {"type": "kubernetes:core/v1:Namespace", "inputs": {"metadata": {"name": "ray-a", "labels": {"ray-on-aks/tenant": "a"}}}},
  {"type": "kubernetes:helm.sh/v3:Release", "inputs": {"name": "plugin", "namespace": "kube-system"}}
 ], "pending_operations": [
  {"type": "updating", "resource": {"urn": "the-release", "type": "kubernetes:helm.sh/v3:Release", "inputs": {"name": "kueue", "namespace": "kueue-system"}}},
  {"type": "creating", "resource": {"urn": "b", "type": "kubernetes:helm.sh/v3:Release", "inputs": {"name": "made", "namespace": "ray-a"}}},
  {"type": "creating", "resource": {"urn": "c", "type": "kubernetes:helm.sh/v3:Release", "inputs": {"name": "given-up", "namespace": "ray-a"}}}
 ]}}`

func decoded(t *testing.T, text string) (d deployment) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// record is what Helm keeps of a revision of a release.
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
		// Its creation broke off, and Helm went on, or gave up.
		record("ray-a", "made", "v1", "deployed"), record("ray-a", "given-up", "v1", "failed"),
		// Somebody else's, under way.
		record("kube-system", "theirs", "v1", "pending-install"), record("ray-a", "theirs", "v1", "pending-install"),
		record("default", "theirs", "v1", "pending-install"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kueue-system", Name: "certificate"}},
	)
	struck, err := decoded(t, state).obstacles(t.Context(), client).strikeOut(t.Context())
	want := []string{
		"kube-system/sh.helm.release.v1.plugin.v1", "kueue-system/sh.helm.release.v1.another.v1", "kueue-system/sh.helm.release.v1.kueue.v3",
		"ray-a/sh.helm.release.v1.given-up.v1", "ray-a/sh.helm.release.v1.made.v1",
	}
	if slices.Sort(struck); err != nil || !slices.Equal(struck, want) {
		t.Errorf("struck %v, %v, want %v", struck, err, want)
	}
	left, err := client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 6 {
		t.Errorf("%d Secrets are left, want 6; %v", len(left.Items), err)
	}
}

// TestARecordThatIsGoneIsNoObstacle: the provider that wrote it may be alive.
func TestARecordThatIsGoneIsNoObstacle(t *testing.T) {
	client := fake.NewSimpleClientset(record("kueue-system", "kueue", "v3", "pending-upgrade"))
	found := decoded(t, state).obstacles(t.Context(), client)
	if err := client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), "kueue-system", "sh.helm.release.v1.kueue.v3"); err != nil {
		t.Fatal(err)
	}
	if _, err := found.strikeOut(t.Context()); err != nil || len(found.records) != 1 {
		t.Errorf("found %v, %v", found.records, err)
	}
}

// A cluster that does not answer holds up what is known to have broken off in it, and
// nothing else.
func TestAClusterThatDoesNotAnswer(t *testing.T) {
	client := fake.NewSimpleClientset()
	client.PrependReactor("list", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	d := decoded(t, state)
	if found := d.obstacles(t.Context(), client); found.problem == nil || !slices.Equal(found.unasked, []string{"the-release", "b", "c"}) {
		t.Errorf("got %+v", found)
	}
	d.Deployment.Pending = nil
	if found := d.obstacles(t.Context(), client); found.problem == nil || found.unasked != nil {
		t.Errorf("got %+v", found)
	}
}

// TestTheRestIsMendedAllTheSame: without the cluster Azure is asked, and the release
// stays broken off.
func TestTheRestIsMendedAllTheSame(t *testing.T) {
	const unreachable = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {server: \"http://127.0.0.1:1\"}}]}`
	books := strings.Replace(state, `"resources": [`, `"resources": [{"type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": "`+unreachable+`"}},`, 1)
	books = strings.Replace(books, `"pending_operations": [`, `"pending_operations": [{"type": "creating", "resource": {"urn": "object", "type": "kubernetes:core/v1:ConfigMap", "inputs": {}}},`, 1)
	mended, err := Recover(t.Context(), func(_ context.Context, args ...string) (out []byte, err error) {
		switch args[1] {
		case "export":
			return []byte(books), nil
		case "import":
			out, err = os.ReadFile(args[3])
			books = string(out)
		}
		return nil, err
	})
	if err == nil || !strings.Contains(err.Error(), "what Helm has done of the-release, b, c could not be found out; all else is mended") {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(mended.Dropped, []string{"object"}) || strings.Contains(books, `"object"`) || !strings.Contains(books, "the-release") {
		t.Errorf("%+v, and the state is %s", mended, books)
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
		d := decoded(t, `{"deployment": {"resources": [{"type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": `+value+`}}]}}`)
		if client, err := d.client(); err != nil || client == nil {
			t.Errorf("%s: %v, %v", name, client, err)
		}
	}
	if client, err := decoded(t, `{"deployment": {"resources": []}}`).client(); err != nil || client != nil {
		t.Errorf("without a provider: %v, %v", client, err)
	}
	d := decoded(t, `{"deployment": {"resources": [{"urn": "p", "type": "pulumi:providers:kubernetes", "inputs": {"kubeconfig": {"ciphertext": "x"}}}]}}`)
	if _, err := d.client(); err == nil || !strings.Contains(err.Error(), "kubeconfig of p") {
		t.Errorf("a kubeconfig that cannot be read: %v", err)
	}
}
