package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/yaml"
)

// checkSecrets fails if a secret of the stack can be read in its state, in its
// plain outputs, or in a ConfigMap, a job or a service of the cluster. printed
// is what pulumi has written to the terminal.
func (e *env) checkSecrets(printed string) {
	e.Helper()
	secrets := e.secrets()
	plain := map[string]string{
		"the terminal":      printed,
		"the state":         e.pulumi("stack", "export"),
		"the plain outputs": e.pulumi("stack", "output", "--json"),
		"the cluster":       e.readable(),
	}
	for _, place := range slices.Sorted(maps.Keys(plain)) {
		if len(plain[place]) < 100 {
			e.Errorf("%s could not be looked at: %q", place, plain[place])
		}
		for what, secret := range secrets {
			if strings.Contains(plain[place], secret) {
				e.Errorf("%s is plain in %s", what, place)
			}
		}
	}
}

// secrets are the services' tokens and what the kubeconfig logs in with.
func (e *env) secrets() map[string]string {
	e.Helper()
	var outputs struct {
		Kubeconfig    string            `json:"kubeconfig"`
		ServiceTokens map[string]string `json:"serviceTokens"`
	}
	must(e.T, json.Unmarshal([]byte(e.pulumi("stack", "output", "--json", "--show-secrets")), &outputs))
	var kubeconfig struct {
		Users []struct {
			User map[string]string `json:"user"`
		} `json:"users"`
	}
	must(e.T, yaml.Unmarshal([]byte(outputs.Kubeconfig), &kubeconfig))
	secrets := map[string]string{}
	for service, token := range outputs.ServiceTokens {
		secrets["the token of "+service] = token
	}
	for _, key := range []string{"token", "client-key-data"} {
		if secret := kubeconfig.Users[0].User[key]; secret != "" {
			secrets["the kubeconfig's "+key] = secret
		}
	}
	if len(secrets) != len(outputs.ServiceTokens)+1 || len(outputs.ServiceTokens) == 0 {
		e.Fatalf("found %v", slices.Sorted(maps.Keys(secrets)))
	}
	return secrets
}

// readable is all that the cluster keeps of the stack beside Secrets, as text.
func (e *env) readable() string {
	e.Helper()
	reader := e.reader()
	configMaps, err := reader.Kubernetes.CoreV1().ConfigMaps("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	jobs, err := reader.Ray.RayV1().RayJobs("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	services, err := reader.Ray.RayV1().RayServices("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	events, err := reader.Kubernetes.CoreV1().Events("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	data, err := json.Marshal([]any{configMaps, jobs, services, events})
	must(e.T, err)
	return string(data)
}
