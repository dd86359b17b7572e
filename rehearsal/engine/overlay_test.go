package engine

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestAnotherStackIsRehearsedButForWhatCannotBe: operators come as in the
// rehearsal's own stack; all else stays.
func TestAnotherStackIsRehearsedButForWhatCannotBe(t *testing.T) {
	own, err := os.ReadFile(filepath.Join("..", "..", "Pulumi.rehearsal.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const stack = `encryptionsalt: v1:of:another
secretsprovider: azurekeyvault://x
config:
  ray-on-aks:profile: prod
  ray-on-aks:infra:
    cluster: { tier: Premium, adminGroups: [a], login: workloadidentity }
    pools: { a100: { max: 2 } }
    operators: { kueue: { version: 0.17.1, requeueLimit: 7 } }
`
	changed, err := overlay([]byte(stack), own)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(changed)
	if err != nil {
		t.Fatal(err)
	}
	preinstalled := map[string]any{"mode": "preinstalled"}
	want := map[string]any{"config": map[string]any{
		"ray-on-aks:profile": "prod",
		"ray-on-aks:infra": map[string]any{
			"cluster": map[string]any{"tier": "Premium", "disableLocalAccounts": false},
			"pools":   map[string]any{"a100": map[string]any{"max": 2.0}},
			"operators": map[string]any{
				"kuberay": preinstalled, "devicePlugin": preinstalled, "gpuMonitoring": preinstalled,
				"kueue": map[string]any{"chart": "./" + chart, "requeueLimit": 7.0},
			},
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestAStackFileThatIsNoneIsSaidToBe(t *testing.T) {
	for config, words := range map[string]string{
		"":                               "the stack file: is empty",
		"config: {a: {b: {secure: v1}}}": "the stack file: config.a.b is encrypted",
		"config: {ray-on-aks:platform: {stack: prod}}": "the stack file: ray-on-aks:platform takes the platform from another stack",
		"config: [1]": "[config]: is no object, but [1]",
		"config: {ray-on-aks:infra: {cluster: 1}}": "[config ray-on-aks:infra cluster]: is no object, but 1",
	} {
		own := "config: {ray-on-aks:infra: {operators: {kueue: {chart: x}}}}"
		if _, err := overlay([]byte(config), []byte(own)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", config, err, words)
		}
	}
}
