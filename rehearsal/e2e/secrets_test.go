package e2e

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// checkSecrets fails if a secret of the stack can be read in its state, in its
// plain outputs, or anywhere in the cluster but in Secrets. printed is what
// pulumi has written to the terminal.
func (e *env) checkSecrets(printed string) {
	e.Helper()
	secrets := e.secrets()
	stored, readable := e.stored()
	plain := map[string]string{
		"the terminal":      printed,
		"the state":         e.pulumi("stack", "export"),
		"the plain outputs": e.pulumi("stack", "output", "--json"),
		"the cluster":       readable,
	}
	for _, place := range slices.Sorted(maps.Keys(plain)) {
		if len(plain[place]) < 100 {
			e.Errorf("%s could not be looked at: %q", place, plain[place])
		}
		for what, secret := range secrets {
			if contains(plain[place], secret) {
				e.Errorf("%s is plain in %s", what, place)
			}
		}
	}
	// The search must be able to find something.
	for what, secret := range secrets {
		if strings.HasPrefix(what, "the token") && !contains(stored, secret) {
			e.Errorf("%s is not found in the Secrets either", what)
		}
	}
}

// contains says whether the secret is in the text, as it is or encoded as
// Kubernetes and AKS do.
func contains(text, secret string) bool {
	return strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret)))
}

// secrets are the services' tokens, the kubeconfig, and what it logs in with.
func (e *env) secrets() map[string]string {
	e.Helper()
	outputs := e.outputs()
	secrets := e.logins(outputs.Kubeconfig)
	for service, token := range outputs.ServiceTokens {
		secrets["the token of "+service] = token
	}
	if len(outputs.ServiceTokens) == 0 {
		e.Fatalf("found %v", slices.Sorted(maps.Keys(secrets)))
	}
	return secrets
}

// logins are a kubeconfig and what it logs in with.
func (e *env) logins(text string) map[string]string {
	e.Helper()
	var kubeconfig struct {
		Users []struct {
			User map[string]string `json:"user"`
		} `json:"users"`
	}
	must(e.T, yaml.Unmarshal([]byte(text), &kubeconfig))
	secrets := map[string]string{"the kubeconfig": text}
	for _, user := range kubeconfig.Users {
		for _, key := range []string{"token", "client-key-data"} {
			if secret := user.User[key]; secret != "" {
				secrets["the kubeconfig's "+key] = secret
			}
		}
	}
	if len(secrets) != 2 {
		e.Fatalf("found %v", slices.Sorted(maps.Keys(secrets)))
	}
	return secrets
}

// stored is all that the cluster keeps in Secrets, and what it keeps in every
// other kind of object, as text.
func (e *env) stored() (secrets, others string) {
	e.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", e.kubeconfig())
	must(e.T, err)
	config.QPS, config.Burst = 100, 200
	client, err := dynamic.NewForConfig(config)
	must(e.T, err)
	finder, err := discovery.NewDiscoveryClientForConfig(config)
	must(e.T, err)
	kinds, err := finder.ServerPreferredResources()
	must(e.T, err)
	looked := 0
	for _, group := range kinds {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		must(e.T, err)
		for _, kind := range group.APIResources {
			if !slices.Contains(kind.Verbs, "list") {
				continue
			}
			list, err := client.Resource(version.WithResource(kind.Name)).List(e.Context(), metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue // Kueue's view of pending workloads is of one queue at a time
			}
			must(e.T, err)
			data, err := json.Marshal(list)
			must(e.T, err)
			looked++
			if version.Group == "" && kind.Name == "secrets" {
				secrets = string(data)
			} else {
				others += string(data)
			}
		}
	}
	if looked < 40 {
		e.Fatalf("only %d kinds of objects were looked at", looked)
	}
	return secrets, others
}
