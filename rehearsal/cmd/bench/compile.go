package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// usual has this program's imports, and those with which others make Helm
// Releases and networks.
//
//go:embed testdata/usual.go.txt
var usual []byte

// network is the package that usual needs beside the program's.
const network = "github.com/pulumi/pulumi-azure-native-sdk/network/v2@v2.90.0"

// compile builds this program and one with the usual imports, each with an
// empty cache.
func compile(ctx context.Context, b *bench) error {
	other, err := os.MkdirTemp("", "usual-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(other)
	if err := module(b.root, other, usual); err != nil {
		return err
	}
	get := exec.CommandContext(ctx, "go", "get", network)
	get.Dir = other
	if out, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("fetching %s: %w\n%s", network, err, out)
	}
	fmt.Println("| cold compile | user CPU, s | wall, s | peak memory of one process, GiB |\n|---|---|---|---|")
	var cpu []float64
	for _, program := range []struct{ name, dir string }{{"this program", b.root}, {"the usual imports", other}} {
		used, wall, err := build(ctx, program.dir)
		if err != nil {
			return err
		}
		user := time.Duration(used.Utime.Nano()).Seconds()
		cpu = append(cpu, user)
		fmt.Printf("| %s | %.0f | %.0f | %.1f |\n", program.name, user, wall.Seconds(), float64(used.Maxrss)/(1<<20))
	}
	fmt.Printf("ratio of user CPU: %.2f (aim: at most 0.5)\n", cpu[0]/cpu[1])
	return nil
}

// build builds the program in the folder with an empty cache, and answers what
// that took: of the memory, what the largest process had, in KiB.
func build(ctx context.Context, dir string) (*syscall.Rusage, time.Duration, error) {
	cache, err := os.MkdirTemp("", "gocache-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(cache)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", os.DevNull, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOCACHE="+cache)
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("building in %s: %w\n%s", dir, err, out)
	}
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return nil, 0, fmt.Errorf("this system does not say what a process has used")
	}
	return used, time.Since(start), nil
}

// moduleLine is that of a go.mod which names the module.
var moduleLine = regexp.MustCompile(`(?m)^module .*$`)

// module makes a module of one file in the folder, with the versions of the
// checkout's.
func module(root, dir string, source []byte) error {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"go.mod": moduleLine.ReplaceAll(mod, []byte("module ray-on-aks")), "go.sum": sum, "main.go": source,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
