package provider

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

const thing = "test:index:Thing"

func urn() resource.URN { return resource.NewURN("stack", "project", "", thing, "it") }

func newThing(t *testing.T, change func(*Kind)) *Provider {
	t.Helper()
	kind := Kind{
		NameKey: "name", IDKeys: []string{"name"}, ReplaceOn: []string{"size", "pools[*].vm"}, SecretOutputs: []string{"key"},
		Preview: func(inputs, _ map[string]any) map[string]any {
			return Mask(map[string]any{"name": "n", "url": "u", "net": map[string]any{"given": 1.0, "made": 2.0}, "key": "k"}, inputs)
		},
		Create: func(_ context.Context, inputs map[string]any) (string, map[string]any, error) {
			return "id", map[string]any{"name": inputs["name"], "key": "k", "token": inputs["token"]}, nil
		},
	}
	if change != nil {
		change(&kind)
	}
	p, err := New(Spec{Name: "test", Version: "1.2.3", Kinds: map[string]Kind{thing: kind}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDiff(t *testing.T) {
	p := newThing(t, nil)
	old := map[string]any{"name": "a", "size": 1.0, "count": 2.0, "tags": map[string]any{"a": "1", "b": "2"},
		"pools": []any{map[string]any{"vm": "x", "count": 1.0}}}
	for name, test := range map[string]struct {
		change      map[string]any
		ignore      []string
		want        map[string]plugin.DiffKind
		deleteFirst bool
	}{
		"same":                     {nil, nil, nil, false},
		"update":                   {map[string]any{"count": 3.0}, nil, map[string]plugin.DiffKind{"count": plugin.DiffUpdate}, false},
		"ignored":                  {map[string]any{"count": 3.0}, []string{"count"}, nil, false},
		"replace":                  {map[string]any{"size": 2.0}, nil, map[string]plugin.DiffKind{"size": plugin.DiffUpdateReplace}, true},
		"other id":                 {map[string]any{"name": "b"}, nil, map[string]plugin.DiffKind{"name": plugin.DiffUpdateReplace}, false},
		"nested replace":           {map[string]any{"pools": []any{map[string]any{"vm": "y", "count": 1.0}}}, nil, map[string]plugin.DiffKind{"pools[0].vm": plugin.DiffUpdateReplace}, true},
		"nested ignored":           {map[string]any{"pools": []any{map[string]any{"vm": "x", "count": 9.0}}}, []string{"pools[0].count"}, nil, false},
		"wildcard ignored":         {map[string]any{"pools": []any{map[string]any{"vm": "x", "count": 9.0}}}, []string{"pools[*].count"}, nil, false},
		"nested partly ignored":    {map[string]any{"tags": map[string]any{"a": "9", "b": "9"}}, []string{"tags.a"}, map[string]plugin.DiffKind{"tags.b": plugin.DiffUpdate}, false},
		"deleted":                  {map[string]any{"tags": map[string]any{"a": "1"}}, nil, map[string]plugin.DiffKind{"tags.b": plugin.DiffDelete}, false},
		"deleted, ignored":         {map[string]any{"tags": map[string]any{"a": "1"}}, []string{"tags"}, nil, false},
		"unknown":                  {map[string]any{"size": Unknown{}}, nil, map[string]plugin.DiffKind{"size": plugin.DiffUpdateReplace}, true},
		"ignored place is nowhere": {nil, []string{"no.such[0].place"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			olds, news := properties(old), properties(old)
			for key, value := range properties(test.change) {
				news[key] = value
			}
			// Becoming secret is no change.
			news["count"] = resource.MakeSecret(news["count"])
			got, err := p.Diff(t.Context(), plugin.DiffRequest{URN: urn(), Type: thing, OldInputs: olds, NewInputs: news, IgnoreChanges: test.ignore})
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]plugin.DiffKind{}
			for path, change := range got.DetailedDiff {
				kinds[path] = change.Kind
			}
			if len(kinds)+len(test.want) > 0 && !reflect.DeepEqual(kinds, test.want) {
				t.Errorf("got %v, want %v", kinds, test.want)
			}
			if (got.Changes == plugin.DiffNone) != (len(test.want) == 0) || got.DeleteBeforeReplace != test.deleteFirst {
				t.Errorf("changes %v, deletes first %v", got.Changes, got.DeleteBeforeReplace)
			}
		})
	}
}

func TestNaming(t *testing.T) {
	p := newThing(t, nil)
	check := func(olds, news map[string]any, auto *plugin.AutonamingOptions) (string, int) {
		t.Helper()
		answer, err := p.Check(t.Context(), plugin.CheckRequest{URN: urn(), Type: thing, Olds: properties(olds), News: properties(news),
			RandomSeed: []byte("seed"), Autonaming: auto})
		if err != nil {
			t.Fatal(err)
		}
		name := answer.Properties["name"]
		if !name.IsString() {
			return "", len(answer.Failures)
		}
		return name.StringValue(), len(answer.Failures)
	}
	first, _ := check(nil, nil, nil)
	second, _ := check(nil, nil, nil)
	if first != second || !strings.HasPrefix(first, "it") || len(first) != len("it")+8 {
		t.Errorf("named %q, then %q", first, second)
	}
	if got, _ := check(map[string]any{"name": "kept"}, nil, nil); got != "kept" {
		t.Errorf("renamed to %q", got)
	}
	if got, _ := check(nil, map[string]any{"name": "own"}, nil); got != "own" {
		t.Errorf("the program's name became %q", got)
	}
	if got, _ := check(nil, nil, &plugin.AutonamingOptions{ProposedName: "proposed"}); got != "proposed" {
		t.Errorf("the engine's proposal became %q", got)
	}
	if got, failures := check(nil, nil, &plugin.AutonamingOptions{Mode: plugin.AutonamingModeDisabled}); got != "" || failures != 1 {
		t.Errorf("with naming disabled: %q, %d failures", got, failures)
	}
}

func TestCreateKeepsSecretsAndUnknowns(t *testing.T) {
	p := newThing(t, nil)
	inputs := properties(map[string]any{"name": "a", "token": map[string]any{"deep": "s"}, "net": map[string]any{"given": 7.0}})
	inputs["token"].ObjectValue()["deep"] = resource.MakeSecret(resource.NewProperty("s"))
	made, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn(), Type: thing, Properties: inputs})
	if err != nil {
		t.Fatal(err)
	}
	if !made.Properties["key"].IsSecret() || !made.Properties["token"].ObjectValue()["deep"].IsSecret() {
		t.Errorf("a secret is open: %v", made.Properties)
	}
	preview, err := p.Create(t.Context(), plugin.CreateRequest{URN: urn(), Type: thing, Properties: inputs, Preview: true})
	if err != nil {
		t.Fatal(err)
	}
	net := preview.Properties["net"].ObjectValue()
	if preview.Properties["name"].StringValue() != "a" || !preview.Properties["url"].IsComputed() ||
		net["given"].NumberValue() != 7 || !net["made"].IsComputed() {
		t.Errorf("previews %v", preview.Properties)
	}
}

// A wait ends when the engine cancels, and when its time is up.
func TestOperationsEnd(t *testing.T) {
	wait := func(k *Kind) {
		k.Create = func(ctx context.Context, _ map[string]any) (string, map[string]any, error) {
			<-ctx.Done()
			return "id", map[string]any{"name": "a"}, &PartialError{Err: context.Cause(ctx)}
		}
	}
	p := newThing(t, wait)
	request := plugin.CreateRequest{URN: urn(), Type: thing, Properties: properties(map[string]any{"name": "a"}), Timeout: 0.05}
	if _, err := p.Create(t.Context(), request); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("past its time: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() {
		if err := p.SignalCancellation(context.Background()); err != nil {
			t.Error(err)
		}
	})
	request.Timeout = 0
	if _, err := p.Create(t.Context(), request); err == nil || !strings.Contains(err.Error(), "cancel") {
		t.Errorf("cancelled: %v", err)
	}
}

func TestUnknownTypesAndFunctions(t *testing.T) {
	p := newThing(t, nil)
	_, err := p.Check(t.Context(), plugin.CheckRequest{URN: urn(), Type: "test:index:Other"})
	if err == nil || !strings.Contains(err.Error(), thing) {
		t.Errorf("the error does not list what is emulated: %v", err)
	}
	_, err = p.Invoke(t.Context(), plugin.InvokeRequest{Tok: tokens.ModuleMember("test:index:f")})
	if err == nil || !strings.Contains(err.Error(), "not emulated") {
		t.Errorf("got %v", err)
	}
}

func TestServeAnnouncesItsPortAndEnds(t *testing.T) {
	for name, args := range map[string][]string{
		"engine gone": {"-v=9", "--logtostderr", "127.0.0.1:1"},
		"by hand":     {"-port", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			read, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- Serve(ctx, newThing(t, nil), args, out) }()
			port := make([]byte, 16)
			n, err := read.Read(port)
			if err != nil || !strings.HasSuffix(string(port[:n]), "\n") {
				t.Errorf("announced %q, %v", port[:n], err)
			}
			if name == "by hand" {
				cancel()
			}
			if err := errors.Join(<-ended, read.Close(), out.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
