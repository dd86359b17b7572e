package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"ray-on-aks/rehearsal/layout"
)

const (
	stackFile = "config:\n  ray-on-aks:profile: dev\n"
	salt      = "encryptionsalt: v1:abc=:v1:def=\n"
)

// newEngine answers an engine of a checkout of two files.
func newEngine(t *testing.T) *Engine {
	t.Helper()
	root := t.TempDir()
	dir, err := layout.Open(filepath.Join(t.TempDir(), "main"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "Pulumi.yaml"), "name: ray-on-aks\nruntime: go\n")
	write(t, filepath.Join(root, "Pulumi.rehearsal.yaml"), stackFile)
	return &Engine{Root: root, Dir: dir, Stack: "rehearsal"}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// copyOf copies the project and answers the copy of the stack file.
func copyOf(t *testing.T, e *Engine) string {
	t.Helper()
	if err := e.copyProject(); err != nil {
		t.Fatal(err)
	}
	return read(t, e.Dir.Join("project", "Pulumi.rehearsal.yaml"))
}

// fakePulumi puts a script in the engine's place that notes its folder and
// arguments and fails while the file refuse exists; it answers what was noted
// since the last time.
func fakePulumi(t *testing.T, e *Engine) (noted func() string, refuse string) {
	t.Helper()
	dir := t.TempDir()
	e.pulumi = filepath.Join(dir, "pulumi")
	notes, refuse := filepath.Join(dir, "notes"), filepath.Join(dir, "refuse")
	write(t, e.pulumi, "#!/bin/sh\necho \"${PWD##*/}: $*\" >>"+notes+"\n! test -e "+refuse+" || { echo refused; exit 1; }\n")
	if err := os.Chmod(e.pulumi, 0o700); err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		data, err := os.ReadFile(notes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := os.RemoveAll(notes); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}, refuse
}

func TestInitMakesTheStackOnceAndCopiesItsFileAnewIfAsked(t *testing.T) {
	e := newEngine(t)
	noted, refuse := fakePulumi(t, e)
	initialize := func(fresh bool) (string, error) {
		err := e.Init(t.Context(), fresh)
		return read(t, e.Dir.Join("project", "Pulumi.rehearsal.yaml")), err
	}
	write(t, refuse, "")
	if _, err := initialize(true); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a stack that cannot be made is answered with %v", err)
	}
	if err := os.Remove(refuse); err != nil {
		t.Fatal(err)
	}
	noted()
	// What broke off is done again, though the copy is there.
	want := "project: login file://" + e.Dir.Join("state") + " --non-interactive\nproject: stack select --create rehearsal --non-interactive\n"
	if got, err := initialize(false); err != nil || got != stackFile {
		t.Errorf("copy %q, %v", got, err)
	}
	if got := noted(); got != want {
		t.Errorf("pulumi ran as\n%swant\n%s", got, want)
	}
	changed := strings.ReplaceAll(stackFile, "dev", "prod")
	write(t, filepath.Join(e.Root, "Pulumi.rehearsal.yaml"), changed)
	if got, err := initialize(false); err != nil || got != stackFile || noted() != "" {
		t.Errorf("a copy in use became %q, %v", got, err)
	}
	if got, err := initialize(true); err != nil || got != changed {
		t.Errorf("fresh copy %q, %v; want %q", got, err, changed)
	}
	if got, want := read(t, e.Dir.Join("project", "Pulumi.yaml")), read(t, filepath.Join(e.Root, "Pulumi.yaml")); got != want {
		t.Errorf("project file %q, want %q", got, want)
	}
}

func TestAStackBesideHasItsOwnFile(t *testing.T) {
	e := newEngine(t)
	copyOf(t, e)
	noted, _ := fakePulumi(t, e)
	other, err := e.Beside(t.Context(), "team", []byte("config: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := noted(), "project: stack init team --non-interactive\n"; got != want {
		t.Errorf("pulumi ran as\n%swant\n%s", got, want)
	}
	if got := read(t, other.Dir.Join("project", "Pulumi.team.yaml")); got != "config: {}\n" || other.Stack != "team" || e.Stack != "rehearsal" {
		t.Errorf("stacks %s and %s, file %q", e.Stack, other.Stack, got)
	}
	if got := read(t, e.Dir.Join("project", "Pulumi.rehearsal.yaml")); got != stackFile {
		t.Errorf("the first stack's file became %q", got)
	}
}

func TestAFreshCopyKeepsTheSaltThatTheStateDependsOn(t *testing.T) {
	for name, c := range map[string]struct{ committed, want string }{
		"a file without salt":            {stackFile, stackFile + salt},
		"a file without a last newline":  {strings.TrimSuffix(stackFile, "\n"), stackFile + salt},
		"a file with a salt of its own":  {"encryptionsalt: v1:other\n" + stackFile, stackFile + salt},
		"a file that has the same salt":  {salt + stackFile, stackFile + salt},
		"a file with a key that is like": {stackFile + "# encryptionsalt: none\n", stackFile + "# encryptionsalt: none\n" + salt},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t)
			write(t, e.Dir.Join("project", "Pulumi.rehearsal.yaml"), salt+"config:\n  old: value\n")
			write(t, filepath.Join(e.Root, "Pulumi.rehearsal.yaml"), c.committed)
			got := copyOf(t, e)
			if got != c.want {
				t.Errorf("copy:\n%s\nwant:\n%s", got, c.want)
			}
			if err := yaml.UnmarshalStrict([]byte(got), &map[string]any{}); err != nil {
				t.Errorf("the copy is no YAML: %v", err)
			}
		})
	}
}

func TestACommittedSaltIsTakenForAFirstCopy(t *testing.T) {
	e := newEngine(t)
	write(t, filepath.Join(e.Root, "Pulumi.rehearsal.yaml"), stackFile+salt)
	if got := copyOf(t, e); got != stackFile+salt {
		t.Errorf("copy: %q", got)
	}
}

func TestCopyingNeverWritesIntoTheCheckout(t *testing.T) {
	e := newEngine(t)
	before := tree(t, e.Root)
	copyOf(t, e)
	write(t, e.Dir.Join("project", "Pulumi.rehearsal.yaml"), salt)
	copyOf(t, e)
	if after := tree(t, e.Root); after != before {
		t.Errorf("the checkout was\n%s\nand is\n%s", before, after)
	}
}

// tree answers the names and contents of all files in a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all.WriteString(path + "\n" + read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestAStackWithoutAFileIsRefusedByName(t *testing.T) {
	e := newEngine(t)
	e.Stack = "none"
	if err := e.copyProject(); err == nil || !strings.Contains(err.Error(), "Pulumi.none.yaml") {
		t.Errorf("answered %v", err)
	}
}
