package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// modules reads what a go.mod requires.
func modules(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]string{}
	for _, r := range file.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	return required
}

func TestGoModAgrees(t *testing.T) {
	required := modules(t, "go.mod")
	const azure = "github.com/pulumi/pulumi-azure-native-sdk/"
	for module, want := range map[string]string{
		"github.com/pulumi/pulumi/sdk/v3":             PulumiVersion,
		"github.com/pulumi/pulumi-kubernetes/sdk/v4":  KubernetesProviderVersion,
		"github.com/pulumi/pulumi-random/sdk/v4":      RandomProviderVersion,
		azure + "v2":                                  AzureNativeVersion,
		azure + "resources/v2":                        AzureNativeVersion,
		azure + "storage/v2":                          AzureNativeVersion,
		azure + "authorization/v2":                    AzureNativeVersion,
		azure + "containerservice/v2":                 AzureNativeOlderVersion,
		azure + "managedidentity/v2":                  AzureNativeOlderVersion,
		"sigs.k8s.io/kueue":                           KueueVersion,
		"github.com/ray-project/kuberay/ray-operator": KubeRayVersion,
	} {
		if got := required[module]; got != "v"+want {
			t.Errorf("go.mod has %s %s, versions.go v%s", module, got, want)
		}
	}
	for module, version := range required {
		if strings.HasPrefix(module, azure) && version != "v"+AzureNativeVersion && version != "v"+AzureNativeOlderVersion {
			t.Errorf("%s %s is neither of the two pinned versions", module, version)
		}
	}
}

func TestRehearsalIsBuiltFromTheSameVersions(t *testing.T) {
	sets := filepath.Join("rehearsal", "toolchain", "sets")
	for _, tc := range []struct{ set, module, want string }{
		{"kubernetes", "k8s.io/kubernetes", KubernetesRehearsal},
		{"kubernetes", "go.etcd.io/etcd/server/v3", EtcdVersion},
		{"kubernetes", "sigs.k8s.io/kueue", KueueVersion},
		{"kuberay", "github.com/ray-project/kuberay/ray-operator", KubeRayVersion},
		{"kuberay-earlier", "github.com/ray-project/kuberay/ray-operator", KubeRayEarlierVersion},
		{"kueue-earlier", "sigs.k8s.io/kueue", KueueEarlierVersion},
		{"kwok", "sigs.k8s.io/kwok", KwokVersion},
		{"pulumi", "github.com/pulumi/pulumi/pkg/v3", PulumiVersion},
		{"pulumi-kubernetes", "github.com/pulumi/pulumi-kubernetes/sdk/v4", KubernetesProviderVersion},
	} {
		if got := modules(t, filepath.Join(sets, tc.set, "go.mod"))[tc.module]; got != "v"+tc.want {
			t.Errorf("set %s has %s %s, versions.go v%s", tc.set, tc.module, got, tc.want)
		}
	}
}

// constant returns the value of a string constant of the package in dir. The rehearsal is a module of its own, so it is read, not imported.
func constant(t *testing.T, dir, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if value, ok := constantIn(decl, name); ok {
				return value
			}
		}
	}
	t.Fatalf("%s has no constant %s", dir, name)
	return ""
}

func constantIn(decl ast.Decl, name string) (string, bool) {
	consts, ok := decl.(*ast.GenDecl)
	if !ok || consts.Tok != token.CONST {
		return "", false
	}
	for _, spec := range consts.Specs {
		spec := spec.(*ast.ValueSpec)
		if i := slices.IndexFunc(spec.Names, func(id *ast.Ident) bool { return id.Name == name }); i >= 0 && i < len(spec.Values) {
			if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				return value, err == nil
			}
		}
	}
	return "", false
}

func TestPluginsOfTheRehearsalAreOfTheSameVersions(t *testing.T) {
	for _, tc := range []struct{ dir, name, want string }{
		{"toolchain", "KubernetesProviderVersion", KubernetesProviderVersion},
		{"azurenative", "Version", AzureNativeVersion},
		{"randomprovider", "Version", RandomProviderVersion},
		{"langhost", "Version", PulumiVersion},
	} {
		if got := constant(t, filepath.Join("rehearsal", tc.dir), tc.name); got != tc.want {
			t.Errorf("rehearsal/%s has %s %s, versions.go %s", tc.dir, tc.name, got, tc.want)
		}
	}
}

func TestVersionsAgreeAmongThemselves(t *testing.T) {
	if !strings.HasPrefix(KubernetesRehearsal, KubernetesMinor+".") {
		t.Errorf("the rehearsal runs Kubernetes %s, AKS %s", KubernetesRehearsal, KubernetesMinor)
	}
	if !strings.Contains(RayImage, "-ray"+RayVersion+"-") {
		t.Errorf("the image %s does not hold Ray %s", RayImage, RayVersion)
	}
}

func TestPythonTestsRunTheSameRay(t *testing.T) {
	for _, file := range []string{"requirements-test.in", "requirements-test.txt", "requirements-models.in", "requirements-models.txt"} {
		data, err := os.ReadFile(filepath.Join("workloads", "entrypoints", file))
		if err != nil {
			t.Fatal(err)
		}
		pin := regexp.MustCompile(`(?m)^ray(\[[a-z,]+\])?==` + regexp.QuoteMeta(RayVersion) + `\b`)
		if !pin.Match(data) {
			t.Errorf("%s does not pin ray to %s, the version of versions.go", file, RayVersion)
		}
	}
}

// TestWorkflowsArePinned: actions by commit, pulumi at the version of its SDK, and each stack is previewed.
func TestWorkflowsArePinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(string(data), -1) {
			if !pinned.MatchString(use[1]) {
				t.Errorf("%s: %s is not pinned by commit, with its version beside it", file, use[1])
			}
		}
		for _, version := range regexp.MustCompile(`pulumi-version: (.*)`).FindAllStringSubmatch(string(data), -1) {
			if version[1] != PulumiVersion {
				t.Errorf("%s: pulumi %s, versions.go has %s", file, version[1], PulumiVersion)
			}
		}
		if filepath.Base(file) != "preview.yml" {
			continue
		}
		for _, stack := range stackFiles(t) {
			name := stackName(stack)
			if !regexp.MustCompile(`stack: \[.*\b` + name + `\b.*\]`).Match(data) {
				t.Errorf("%s previews no stack %s", file, name)
			}
		}
	}
}
