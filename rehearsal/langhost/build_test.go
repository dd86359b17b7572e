package langhost

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

func hello(t *testing.T) *pulumirpc.ProgramInfo {
	t.Helper()
	return write(t, map[string]string{"go.mod": "module p\n", "main.go": "package main\nfunc main() { println(`hello`) }\n"})
}

func runHello(t *testing.T, info *pulumirpc.ProgramInfo) (path string) {
	t.Helper()
	built, err := build(t.Context(), "ray-on-aks", info)
	if err != nil {
		t.Error(err)
		return ""
	}
	cmd := exec.Command(built.path)
	var out strings.Builder
	cmd.Stderr = &out
	if err := built.run(cmd); err != nil || out.String() != "hello\n" {
		t.Errorf("ran with %v, said %q", err, out.String())
	}
	return built.path
}

func TestTemporaryBuildsAreRemoved(t *testing.T) {
	t.Setenv(BuildDirEnv, "")
	if path := runHello(t, hello(t)); path != "" {
		if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
			t.Errorf("the folder of %s is left: %v", path, err)
		}
	}
}

// Concurrent runs share one file; none starts a half-written one. A build that
// changes nothing leaves the file alone.
func TestConcurrentRunsShareOneBuild(t *testing.T) {
	folder := t.TempDir()
	t.Setenv(BuildDirEnv, folder)
	info := hello(t)
	path := runHello(t, info)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := runHello(t, info); got != path {
				t.Errorf("built to %s, before to %s", got, path)
			}
		})
	}
	group.Wait()
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("a build without a change linked anew")
	}
	if other := runHello(t, hello(t)); other == path {
		t.Error("two folders build one file")
	}
}

func TestServeAnnouncesItsPortAndEnds(t *testing.T) {
	read, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	// Nobody listens there: an engine that is gone.
	go func() { ended <- Serve(t.Context(), []string{"--logtostderr", "-v=9", "127.0.0.1:1"}, out) }()
	port := make([]byte, 16)
	n, err := read.Read(port)
	if err != nil || !strings.HasSuffix(string(port[:n]), "\n") {
		t.Errorf("announced %q, %v", port[:n], err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
