package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// crashEnv makes the test binary a process that breaks off in a build; its
// value is "<sets>:<cache>".
const crashEnv = "TOOLCHAIN_TEST_CRASH"

func TestMain(m *testing.M) {
	if folders := os.Getenv(crashEnv); folders != "" {
		buildUntilKilled(folders)
	}
	os.Exit(m.Run())
}

// buildUntilKilled starts a build, says so and never ends it.
func buildUntilKilled(folders string) {
	sets, cache, _ := strings.Cut(folders, ":")
	tools := &Toolchain{Sets: sets, Cache: cache, Log: io.Discard}
	_, err := tools.ensure(context.Background(), Tool{
		Name: "tiny-tool", Set: "set", Package: ".", Version: "v1.2.3", LDFlags: "-X main.version=VERSION",
		Prepare: func(context.Context, string, string) error {
			fmt.Println("building")
			time.Sleep(time.Minute)
			return context.DeadlineExceeded
		},
	}, "")
	fmt.Println(err)
	os.Exit(1)
}

// entries answers what lies in the cache, without the lock.
func entries(t *testing.T, tools *Toolchain) []string {
	t.Helper()
	all, err := os.ReadDir(tools.Cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestAKilledBuildLeavesNoToolAndTheNextOneClearsUp(t *testing.T) {
	tools, tool := newToolchain(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	crash := exec.CommandContext(ctx, os.Args[0])
	crash.Env = append(os.Environ(), crashEnv+"="+tools.Sets+":"+tools.Cache)
	out, err := crash.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := crash.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("building"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "building" {
		t.Errorf("the build said %q, %v", line, err)
	}
	if err := crash.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := crash.Wait(); err == nil {
		t.Error("the build ended by itself")
	}
	if left := entries(t, tools); len(left) != 1 || !strings.HasPrefix(left[0], buildFolder) {
		t.Fatalf("the killed build left %v, want its build folder alone", left)
	}
	// The kernel let go of the lock; the next build takes it and cleans up.
	path, err := tools.ensure(ctx, tool, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(ctx, path).Run(); err != nil {
		t.Errorf("the tool does not run: %v", err)
	}
	if left := entries(t, tools); len(left) != 1 || strings.HasPrefix(left[0], buildFolder) {
		t.Errorf("after the next build there are %v, want the tool alone", left)
	}
}

func TestABuiltToolIsNotBuiltAgain(t *testing.T) {
	tools, tool := newToolchain(t)
	first, err := tools.ensure(t.Context(), tool, "")
	if err != nil {
		t.Fatal(err)
	}
	tool.Prepare = func(context.Context, string, string) error { return fmt.Errorf("built again") }
	if second, err := tools.ensure(t.Context(), tool, ""); err != nil || second != first {
		t.Errorf("the second time answered %q, %v; want %q", second, err, first)
	}
}

func TestABrokenBuildIsReportedWithTheCompilersWords(t *testing.T) {
	tools, tool := newToolchain(t)
	write(t, tools.Sets, "set/main.go", "package main\n\nfunc main() { undefinedName() }\n")
	path, err := tools.ensure(t.Context(), tool, "")
	if err == nil || !strings.Contains(err.Error(), "undefinedName") {
		t.Errorf("answered %q and error %v", path, err)
	}
	if left := entries(t, tools); len(left) != 0 {
		t.Errorf("left in the cache: %v", left)
	}
}

func TestABuildWaitsForTheOneThatRuns(t *testing.T) {
	tools, _ := newToolchain(t)
	var log bytes.Buffer
	tools.Log = &log
	unlock, err := tools.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tools.lock(ctx); err == nil {
		t.Fatal("two builds run at once")
	}
	if !strings.Contains(log.String(), "waiting") {
		t.Errorf("a build that waits says %q", log.String())
	}
	unlock()
	again, err := tools.lock(t.Context())
	if err != nil {
		t.Fatalf("the lock is not free after the build: %v", err)
	}
	again()
}

func TestOnlyTheExactVersionIsTakenFromPATH(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	tool := Tool{Name: "fake-tool", VersionArgs: []string{"--version"}}
	path := filepath.Join(folder, tool.Name)
	for _, c := range []struct {
		name, script string
		taken        bool
	}{
		{"the version", `echo "Kubernetes v1.35.3"`, true},
		{"without the v", `printf 'etcd Version: 1.35.3\nGo Version: go1.26\n'`, true},
		{"another patch", `echo "Kubernetes v1.35.2"`, false},
		{"a longer patch", `echo "Kubernetes v1.35.30"`, false},
		{"a build of somebody's own", `echo "Kubernetes v1.35.3+own"`, false},
		{"a prerelease", `echo "Kubernetes v1.35.3-rc.1"`, false},
		{"a longer word", `echo "Kubernetes-v1.35.3"`, false},
		{"nothing", `true`, false},
		{"an exit code", `echo "Kubernetes v1.35.3"; exit 1`, false},
		{"the version for other arguments alone", `test "$1" = version && echo "Kubernetes v1.35.3"`, false},
	} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.taken {
			want = path
		}
		if got := installed(t.Context(), tool, "v1.35.3"); got != want {
			t.Errorf("a copy that prints %s: %q, want %q", c.name, got, want)
		}
	}
	if got := installed(t.Context(), Tool{Name: "fake-tool"}, "v1.35.3"); got != "" {
		t.Errorf("a tool that has no version to ask for was taken from %s", got)
	}
	if got := installed(t.Context(), Tool{Name: "no-such-tool", VersionArgs: tool.VersionArgs}, "v1.35.3"); got != "" {
		t.Errorf("a tool that is not installed was found at %s", got)
	}
}

func TestAnInstalledToolIsTakenInsteadOfABuild(t *testing.T) {
	tools, tool := newToolchain(t)
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	path := filepath.Join(folder, tool.Name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+tool.Version+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tool.VersionArgs = []string{"--version"}
	if got, err := tools.ensure(t.Context(), tool, ""); err != nil || got != path {
		t.Errorf("got %q, %v; want %q", got, err, path)
	}
	if left := entries(t, tools); len(left) != 0 {
		t.Errorf("a build was made too: %v", left)
	}
}
