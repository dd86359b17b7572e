package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// exported is the interface of a stack: every output by name, and whether it is secret.
var exported = map[string]bool{
	"adapters":              false,
	"clusterName":           false,
	"clusterQueues":         false,
	"containers":            false,
	"flavors":               false,
	"getCredentialsCommand": false,
	"gpuEnabled":            false,
	"identityClientIds":     false,
	"inputs":                false,
	"kubeconfig":            true,
	"localQueues":           false,
	"location":              false,
	"namespaces":            false,
	"oidcIssuerURL":         false,
	"operators":             false,
	"platform":              false,
	"pools":                 false,
	"priorities":            false,
	"rayImage":              false,
	"rayVersion":            false,
	"resourceGroup":         false,
	"runs":                  false,
	"serviceAccount":        false,
	"services":              false,
	"serviceTokens":         true,
	"storageAccount":        false,
	"tenantId":              false,
}

// TestOutputs resolves every output of the stack that has all workloads.
func TestOutputs(t *testing.T) {
	secret := map[string]bool{}
	values := map[string]any{}
	results, _ := exports(t, stacktest.Options{Stack: "rehearsal", Config: stackConfig(t, "Pulumi.rehearsal.yaml")})
	for name, input := range results {
		values[name], secret[name] = stacktest.Resolve(t, input)
	}
	if got, want := slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(exported)); !slices.Equal(got, want) {
		t.Errorf("outputs %v, want %v", got, want)
	}
	for name, want := range exported {
		if secret[name] != want {
			t.Errorf("%s is secret: %v, want %v", name, secret[name], want)
		}
	}
	delete(values, "kubeconfig")
	delete(values, "serviceTokens")
	stacktest.Golden(t, "outputs", mask(jsonNumbers(values)))
}

// exports runs the program and returns what it exports.
func exports(t *testing.T, o stacktest.Options) (results pulumi.Map, r stacktest.Recording) {
	t.Helper()
	r = stacktest.Run(t, func(ctx *pulumi.Context) error {
		cfg, err := loadConfig(ctx)
		if err != nil {
			return err
		}
		results, err = build(ctx, cfg)
		return err
	}, o)
	return results, r
}

// mask replaces the hashes of runs, which follow every edit of a script.
func mask(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			v[key] = mask(child)
		}
	case []any:
		for i, child := range v {
			v[i] = mask(child)
		}
	case string:
		return runHash.ReplaceAllString(v, "-<hash>")
	}
	return value
}

func TestSecretsAreNowherePlain(t *testing.T) {
	r := stacktest.Run(t, program, stacktest.Options{Stack: "rehearsal", Config: stackConfig(t, "Pulumi.rehearsal.yaml")})
	for _, res := range r.Resources {
		for key, value := range res.Inputs {
			if strings.Contains(value.String(), "not-a-secret") && !value.ContainsSecrets() {
				t.Errorf("%s has a secret in plain text in %s", res.URN(), key)
			}
		}
	}
	if p := r.One(t, "pulumi:providers:kubernetes"); !p.Inputs["kubeconfig"].IsSecret() {
		t.Errorf("the provider's kubeconfig is %v", p.Inputs["kubeconfig"])
	}
}
