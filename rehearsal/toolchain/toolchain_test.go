package toolchain

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

const program = "package main\n\nfunc main() {}\n"

// write makes a file below dir.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newToolchain answers a toolchain with one set, whose tool is one line of Go.
func newToolchain(t *testing.T) (*Toolchain, Tool) {
	t.Helper()
	tools := &Toolchain{Sets: t.TempDir(), Cache: t.TempDir(), Log: io.Discard}
	write(t, tools.Sets, "set/go.mod", "module tiny\n\ngo 1.26\n")
	write(t, tools.Sets, "set/main.go", program)
	return tools, Tool{Name: "tiny-tool", Set: "set", Package: ".", Version: "v1.2.3", LDFlags: "-X main.version=VERSION"}
}

func TestKeyChangesWithEveryInputOfTheBuild(t *testing.T) {
	key := func(tools *Toolchain, tool Tool) string {
		t.Helper()
		k, err := tools.key(tool, tool.Version)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	seen := map[string]string{}
	for _, c := range []struct {
		name   string
		change func(*Toolchain, *Tool)
	}{
		{"nothing", func(*Toolchain, *Tool) {}},
		{"version", func(_ *Toolchain, tool *Tool) { tool.Version = "v1.2.4" }},
		{"package", func(_ *Toolchain, tool *Tool) { tool.Package = "./cmd" }},
		{"linker flags", func(_ *Toolchain, tool *Tool) { tool.LDFlags += " -X main.more=1" }},
		{"go.mod", func(tc *Toolchain, _ *Tool) { write(t, tc.Sets, "set/go.mod", "module tiny\n\ngo 1.25\n") }},
		{"source of the same length", func(tc *Toolchain, _ *Tool) {
			write(t, tc.Sets, "set/main.go", strings.Replace(program, "\n\n", "\n ", 1))
		}},
		{"checksums", func(tc *Toolchain, _ *Tool) { write(t, tc.Sets, "set/go.sum", "x v1 h1:x\n") }},
		{"file in a folder", func(tc *Toolchain, _ *Tool) { write(t, tc.Sets, "set/overlay/a.go", "package a\n") }},
		{"name of that file", func(tc *Toolchain, _ *Tool) { write(t, tc.Sets, "set/overlay/b.go", "package a\n") }},
	} {
		tools, tool := newToolchain(t)
		c.change(tools, &tool)
		k := key(tools, tool)
		if other, ok := seen[k]; ok {
			t.Errorf("%s: the key is that of %s", c.name, other)
		}
		seen[k] = c.name
	}
	// Another clone with the same files shares the build.
	if tools, tool := newToolchain(t); seen[key(tools, tool)] != "nothing" {
		t.Error("the key depends on the folder of the checkout")
	}
}

func TestVersionIsTheOneThatGoModRequires(t *testing.T) {
	tools, _ := newToolchain(t)
	write(t, tools.Sets, "set/go.mod", `module tiny

replace (
	example.com/block => example.com/fork v9.9.9
)

require example.com/line v1.0.1

require (
	example.com/block-more v3.0.0
	example.com/block v1.0.2 // indirect
)
`)
	for module, want := range map[string]string{"example.com/line": "v1.0.1", "example.com/block": "v1.0.2"} {
		if got, err := tools.version(Tool{Set: "set", Module: module}); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %s", module, got, err, want)
		}
	}
	if got, err := tools.version(Tool{Set: "set", Module: "example.com/line", Version: "v7.0.0"}); err != nil || got != "v7.0.0" {
		t.Errorf("a version of the tool's own was passed over: %q, %v", got, err)
	}
	if got, err := tools.version(Tool{Set: "set", Module: "example.com/none"}); err == nil || !strings.Contains(err.Error(), "example.com/none") {
		t.Errorf("a module that is not required has version %q, %v", got, err)
	}
}

func TestEveryToolOfTheSetsHasAReleasedVersion(t *testing.T) {
	tools, err := New(filepath.Join("..", ".."), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	released := regexp.MustCompile(`^v\d+\.\d+\.\d+$`)
	names := map[string]bool{}
	for _, tool := range Tools() {
		version, err := tools.version(tool)
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		} else if !released.MatchString(version) {
			t.Errorf("%s: version %q is no release", tool.Name, version)
		}
		if names[tool.Name] {
			t.Errorf("two tools are named %s", tool.Name)
		}
		names[tool.Name] = true
	}
}

// TestEarlierReleasesAreEarlier: an upgrade from one is an upgrade, and the tool is
// another one in the cache.
func TestEarlierReleasesAreEarlier(t *testing.T) {
	tools, err := New(filepath.Join("..", ".."), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	earlier := Earlier()
	if len(earlier) != 2 {
		t.Errorf("earlier releases of %v", earlier)
	}
	for _, old := range earlier {
		i := slices.IndexFunc(Tools(), func(tool Tool) bool { return tool.Name == old.Name })
		before, err := tools.version(old)
		if err != nil {
			t.Fatal(err)
		}
		now, err := tools.version(Tools()[i])
		if err != nil || semver.Compare(before, now) >= 0 || semver.MajorMinor(before) == semver.MajorMinor(now) {
			t.Errorf("%s: %s before %s; %v", old.Name, before, now, err)
		}
	}
}

func TestLinkerFlagsCarryVersionAndMinor(t *testing.T) {
	tool := Tool{LDFlags: "-X a.version=VERSION -X a.minor=MINOR"}
	if got, want := tool.ldflags("v1.35.3"), "-s -w -X a.version=v1.35.3 -X a.minor=35"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Tool{}).ldflags("v1.35.3"); got != "-s -w" {
		t.Errorf("a tool without flags is linked with %q", got)
	}
}

func TestAModuleThatCannotBeFetchedIsReportedWithGosReason(t *testing.T) {
	tools, err := New(filepath.Join("..", ".."), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	if _, _, err := tools.Module(t.Context(), KWOKModule); err == nil || !strings.Contains(err.Error(), "GOPROXY=off") {
		t.Errorf("the error does not say why: %v", err)
	}
}
