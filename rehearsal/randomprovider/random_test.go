package randomprovider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"golang.org/x/crypto/bcrypt"

	"ray-on-aks/rehearsal/provider"
)

func urn(token string) resource.URN {
	return resource.NewURN("test", "ray-on-aks", "", tokens.Type(token), "it")
}

func mustCreate(t *testing.T, p *provider.Provider, token string, inputs map[string]any, preview bool) plugin.CreateResponse {
	t.Helper()
	answer, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn(token), Type: tokens.Type(token), Preview: preview,
		Properties: resource.NewPropertyMapFromMap(inputs)})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestRandomString(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]any{"length": 8.0, "upper": false, "special": false, "minNumeric": 3.0}
	if result := mustCreate(t, p, RandomString, inputs, true).Properties["result"]; !result.IsComputed() {
		t.Errorf("a preview says %v", result)
	}
	seen := map[string]bool{}
	for range 50 {
		answer := mustCreate(t, p, RandomString, inputs, false)
		result := answer.Properties["result"].StringValue()
		digits := 0
		for _, c := range result {
			if c >= '0' && c <= '9' {
				digits++
			} else if c < 'a' || c > 'z' {
				t.Fatalf("%q has %q", result, c)
			}
		}
		if len(result) != 8 || digits < 3 || string(answer.ID) != result {
			t.Fatalf("made %q with id %q", result, answer.ID)
		}
		seen[result] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d of 50 differ", len(seen))
	}
}

func TestStateIsKept(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	inputs := resource.NewPropertyMapFromMap(map[string]any{"length": 12.0, "keepers": map[string]any{"a": "1"}})
	answer := mustCreate(t, p, RandomString, inputs.Mappable(), false)
	read, err := p.Read(t.Context(), plugin.ReadRequest{URN: urn(RandomString), Type: RandomString, ID: answer.ID, Inputs: inputs, State: answer.Properties})
	if err != nil {
		t.Fatal(err)
	}
	if !read.Outputs.DeepEquals(answer.Properties) || !read.Inputs.DeepEquals(inputs) {
		t.Errorf("a refresh changes the state: %v", read)
	}
	for key, value := range map[string]any{"length": 13.0, "keepers": map[string]any{"a": "2"}, "special": false} {
		changed := inputs.Copy()
		changed[resource.PropertyKey(key)] = resource.NewPropertyValue(value)
		d, err := p.Diff(t.Context(), plugin.DiffRequest{URN: urn(RandomString), Type: RandomString, ID: answer.ID,
			OldInputs: inputs, OldOutputs: answer.Properties, NewInputs: changed})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(d.ReplaceKeys, resource.PropertyKey(key)) {
			t.Errorf("a change of %s does not replace: %v", key, d.DetailedDiff)
		}
	}
}

func TestRandomPasswordIsSecret(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	answer := mustCreate(t, p, RandomPassword, map[string]any{"length": 80.0, "overrideSpecial": "_", "minSpecial": 2.0}, false)
	for _, key := range []resource.PropertyKey{"result", "bcryptHash"} {
		if !answer.Properties[key].IsSecret() {
			t.Errorf("%s is not secret", key)
		}
	}
	result := answer.Properties["result"].SecretValue().Element.StringValue()
	hash := answer.Properties["bcryptHash"].SecretValue().Element.StringValue()
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(result[:72])); err != nil {
		t.Error(err)
	}
	if strings.Count(result, "_") < 2 || answer.ID == resource.ID(result) {
		t.Errorf("made %q with id %q", result, answer.ID)
	}
}

// A refresh and an update hand the password on as what it is.
func TestAPasswordStaysSecretAndTheSame(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	inputs := resource.NewPropertyMapFromMap(map[string]any{"length": 32.0, "special": false})
	made := mustCreate(t, p, RandomPassword, inputs.Mappable(), false)
	read, err := p.Read(t.Context(), plugin.ReadRequest{URN: urn(RandomPassword), Type: RandomPassword, ID: made.ID, Inputs: inputs, State: made.Properties})
	if err != nil {
		t.Fatal(err)
	}
	updated := map[bool]resource.PropertyMap{}
	for _, preview := range []bool{false, true} {
		answer, err := p.Update(t.Context(), plugin.UpdateRequest{URN: urn(RandomPassword), Type: RandomPassword, ID: made.ID,
			OldInputs: inputs, OldOutputs: made.Properties, NewInputs: inputs, Preview: preview})
		if err != nil {
			t.Fatal(err)
		}
		updated[preview] = answer.Properties
	}
	for name, state := range map[string]resource.PropertyMap{
		"a refresh": read.Outputs, "an update": updated[false], "the preview of an update": updated[true],
	} {
		for _, key := range []resource.PropertyKey{"result", "bcryptHash"} {
			if !state[key].IsSecret() || !state[key].DeepEquals(made.Properties[key]) {
				t.Errorf("%s: %s is secret: %v, or another one", name, key, state[key].IsSecret())
			}
		}
	}
	if answer := mustCreate(t, p, RandomPassword, inputs.Mappable(), true); !answer.Properties["result"].IsSecret() {
		t.Error("a preview does not say that the password will be secret")
	}
}

func TestRefusals(t *testing.T) {
	base := map[string]any{"length": 8.0}
	for name, test := range map[string]struct {
		changes map[string]any
		want    string // path
	}{
		"fine":          {nil, ""},
		"unknown later": {map[string]any{"length": provider.Unknown{}, "minLower": 9.0}, ""},
		"misspelt":      {map[string]any{"lenght": 8.0}, "lenght"},
		"text length":   {map[string]any{"length": "8"}, "length"},
		"fraction":      {map[string]any{"length": 8.5}, "length"},
		"too short":     {map[string]any{"minLower": 5.0, "minUpper": 5.0}, "length"},
		"contradiction": {map[string]any{"special": false, "minSpecial": 1.0}, "minSpecial"},
		"nothing left":  {map[string]any{"lower": false, "upper": false, "number": false, "special": false}, "length"},
		"bad boolean":   {map[string]any{"upper": "no"}, "upper"},
	} {
		inputs := maps.Clone(base)
		maps.Copy(inputs, test.changes)
		problems := check(inputs)
		if test.want == "" && len(problems) > 0 || test.want != "" && (len(problems) != 1 || problems[0].Path != test.want) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
