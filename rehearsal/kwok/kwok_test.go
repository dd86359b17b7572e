package kwok

import (
	"context"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"ray-on-aks/rehearsal/toolchain"
)

var exclusions = Exclusions{Images: []string{"kueue/kueue", "kuberay/operator"}, Submitter: "the-submitter"}

// module answers the folder of the pinned module.
func module(t *testing.T) string {
	t.Helper()
	tools, err := toolchain.New(filepath.Join("..", ".."), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir, _, err := tools.Module(ctx, toolchain.KWOKModule)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

type expression struct{ Key, Operator string }

type stage struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ResourceRef struct{ Kind string }
		Selector    struct{ MatchExpressions []expression }
	}
}

// parse reads the stages of a configuration by name.
func parse(t *testing.T, text string) map[string]stage {
	t.Helper()
	stages := map[string]stage{}
	for document := range strings.SplitSeq(text, "---\n") {
		var s stage
		if err := yaml.Unmarshal([]byte(document), &s); err != nil {
			t.Fatal(err)
		}
		if s.Kind == "Stage" {
			stages[s.Metadata.Name] = s
		}
	}
	return stages
}

// configured writes the configuration and reads it again.
func configured(t *testing.T, moduleDir string) map[string]stage {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kwok.yaml")
	if err := WriteConfig(path, moduleDir, exclusions); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}

// added answers what a stage asks for beyond the module's own.
func added(t *testing.T, moduleDir string, s stage) []expression {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleDir, "kustomize", "stage", "*", "*", s.Metadata.Name+".yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no file of stage %s: %v", s.Metadata.Name, err)
	}
	var own []expression
	for _, file := range files {
		for _, folder := range stages {
			if strings.HasSuffix(filepath.ToSlash(filepath.Dir(file)), "/"+folder) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				own = parse(t, string(data))[s.Metadata.Name].Spec.Selector.MatchExpressions
			}
		}
	}
	got := s.Spec.Selector.MatchExpressions
	if len(got) < len(own) || !slices.Equal(got[:len(own)], own) {
		t.Errorf("stage %s lost some of the module's conditions: %v, had %v", s.Metadata.Name, got, own)
		return nil
	}
	return got[len(own):]
}

func TestEveryStageOfPodsPassesOverProcessPods(t *testing.T) {
	dir := module(t)
	all := configured(t, dir)
	kinds := map[string]int{}
	for name, s := range all {
		kinds[s.Spec.ResourceRef.Kind]++
		more := added(t, dir, s)
		want := 0
		if s.Spec.ResourceRef.Kind == "Pod" {
			want = 1
		}
		if name == "pod-complete" {
			want = 2
		}
		if len(more) != want {
			t.Errorf("stage %s has %d conditions of ours, want %d: %v", name, len(more), want, more)
			continue
		}
		for _, e := range more {
			if e.Operator != "DoesNotExist" {
				t.Errorf("stage %s: condition %+v does not exclude", name, e)
			}
		}
		if want > 0 && !strings.HasPrefix(more[0].Key, ".spec.containers.[].image | select( test(") {
			t.Errorf("stage %s does not look at images: %s", name, more[0].Key)
		}
	}
	if kinds["Pod"] < 3 || kinds["Node"] < 2 {
		t.Errorf("stages by kind: %v; nodes and pods need more", kinds)
	}
}

func TestTheSubmittersPodIsNotCompletedByKWOK(t *testing.T) {
	dir := module(t)
	more := added(t, dir, configured(t, dir)["pod-complete"])
	if len(more) != 2 || !strings.Contains(more[1].Key, `.spec.containers.[].name`) || !strings.Contains(more[1].Key, `"the-submitter"`) {
		t.Errorf("pod-complete is narrowed by %v", more)
	}
}

func TestTheImagesPatternTakesTheExcludedRepositoriesAlone(t *testing.T) {
	dir := module(t)
	more := added(t, dir, configured(t, dir)["pod-ready"])
	if len(more) == 0 {
		t.Fatal("pod-ready is not narrowed")
	}
	quoted := regexp.MustCompile(`test\("(.*)"\)`).FindStringSubmatch(more[0].Key)
	if quoted == nil {
		t.Fatalf("no pattern in %s", more[0].Key)
	}
	pattern := regexp.MustCompile(quoted[1])
	for image, want := range map[string]bool{
		"registry.example/kueue/kueue:v1": true, "registry.example/kuberay/operator@sha256:0": true, "registry.example/kueue/kueue": true,
		"registry.example/kueue/kueue-viz:v1": false, "rayproject/ray:2.55.1": false, "registry.example/my-kuberay/operator:v1": false,
	} {
		if got := pattern.MatchString(image); got != want {
			t.Errorf("%s: %v, want %v", image, got, want)
		}
	}
}

func TestAModuleWithoutStagesIsRefused(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "kwok.yaml"), t.TempDir()
	if err := WriteConfig(path, dir, exclusions); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("answered %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a configuration was written: %v", err)
	}
}

func TestTheConfigsPathMayHoldACommaAndAQuote(t *testing.T) {
	const path = `/a "b", c/kwok.yaml`
	for _, arg := range Args("/kubeconfig", path) {
		value, ok := strings.CutPrefix(arg, "--config=")
		if !ok {
			continue
		}
		// The flag's type reads its value so.
		got, err := csv.NewReader(strings.NewReader(value)).Read()
		if err != nil || len(got) != 1 || got[0] != path {
			t.Errorf("%s is read as %q, %v", arg, got, err)
		}
		return
	}
	t.Error("there is no --config")
}
