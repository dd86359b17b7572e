package toolchain

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// buildEnv makes builds reproducible and their packages shareable: no cgo, no
// workspace, only the pinned go.mod.
var buildEnv = []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath -buildvcs=false"}

// recipe is raised when the code in this package changes what it builds.
const recipe = 1

// version reads the tool's version out of its set's go.mod.
func (t *Toolchain) version(tool Tool) (string, error) {
	if tool.Version != "" {
		return tool.Version, nil
	}
	file := filepath.Join(t.Sets, tool.Set, "go.mod")
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(scan.Text()), "require "))
		// In a replace block an arrow follows the module.
		if len(fields) >= 2 && fields[0] == tool.Module && strings.HasPrefix(fields[1], "v") {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%s pins no version of %s", file, tool.Module)
}

// key hashes everything that decides the binary: the set's files, the package,
// the linker flags, the compiler and the platform.
func (t *Toolchain) key(tool Tool, version string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, recipe, runtime.Version(), runtime.GOOS, runtime.GOARCH, buildEnv, tool.Package, tool.ldflags(version))
	err := HashTree(h, filepath.Join(t.Sets, tool.Set))
	return hex.EncodeToString(h.Sum(nil))[:12], err
}

// HashTree writes the names and contents of all files in a folder to w, in the
// order of their names.
func HashTree(w io.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s %d\n%s", strings.TrimPrefix(path, dir), len(data), data)
		return err
	})
}

// lock serializes builds of all clones: two at once would need twice the
// memory and build the same things.
func (t *Toolchain) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(t.Cache, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for told := false; ; told = true {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("locking the toolchain's cache: %w", err)
		}
		if !told {
			fmt.Fprintln(t.Log, "toolchain: another build is running, waiting for it")
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

const buildFolder = ".build-"

// build compiles the tool in a folder of its own and moves the finished binary
// to path, so that a crash leaves no half-written tool. The caller holds the
// lock, and so any other build folder is what a crash left.
func (t *Toolchain) build(ctx context.Context, tool Tool, version, path string) error {
	left, err := filepath.Glob(filepath.Join(t.Cache, buildFolder+"*"))
	if err != nil {
		return fmt.Errorf("looking for broken-off builds: %w", err)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing a broken-off build: %w", err)
		}
	}
	dir, err := os.MkdirTemp(t.Cache, buildFolder)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(t.Sets, tool.Set))); err != nil {
		return fmt.Errorf("copying the module set: %w", err)
	}
	if tool.Prepare != nil {
		if err := tool.Prepare(ctx, dir, version); err != nil {
			return err
		}
	}
	out := filepath.Join(dir, "out", tool.Name)
	if err := goRun(ctx, dir, "build", "-ldflags", tool.ldflags(version), "-o", out, tool.Package); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Rename(out, path)
}

// goRun runs the go command in a build folder; its output is in the error.
func goRun(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), buildEnv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, withoutDownloads(string(out)))
	}
	return nil
}

// withoutDownloads leaves out go's progress, which would bury the reason.
func withoutDownloads(out string) string {
	var kept strings.Builder
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "go: downloading ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// installed answers the path of a copy on PATH that has exactly the pinned
// version, or "".
func installed(ctx context.Context, tool Tool, version string) string {
	if tool.Plugin != "" {
		return installedPlugin(tool, version)
	}
	if len(tool.VersionArgs) == 0 {
		return ""
	}
	path, err := exec.LookPath(tool.Name)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, tool.VersionArgs...)
	cmd.WaitDelay = time.Second // a child of it may hold the output open
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	for _, word := range strings.Fields(string(out)) {
		if strings.TrimPrefix(word, "v") == strings.TrimPrefix(version, "v") {
			return path
		}
	}
	return ""
}

// installedPlugin answers the path of a provider that an installed Pulumi has
// fetched, or "". Its folder's name carries the version.
func installedPlugin(tool Tool, version string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(home, ".pulumi", "plugins", "resource-"+tool.Plugin+"-"+version, tool.Name)
	if !isExecutable(path) {
		return ""
	}
	return path
}
