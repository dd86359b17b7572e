package langhost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// BuildDirEnv is the environment variable that names a folder for built
// programs. Go skips the link where the file there is up to date.
const BuildDirEnv = "PULUMI_GO_BUILD_DIR"

// program is an executable that is ready to start.
type program struct {
	path string
	// started is called once the process runs: from then on another build may
	// replace the file.
	started func() error
	// remove is called after the process ended.
	remove func() error
}

func nothing() error { return nil }

// build answers the program's executable: the one that the runtime option
// `binary` names, else the outcome of `go build` of the program's folder.
func build(ctx context.Context, name string, info *pulumirpc.ProgramInfo) (program, error) {
	if binary := info.GetOptions().GetFields()["binary"].GetStringValue(); binary != "" {
		if !filepath.IsAbs(binary) {
			binary = filepath.Join(info.GetRootDirectory(), binary)
		}
		if _, err := os.Stat(binary); err != nil {
			return program{}, fmt.Errorf("finding the program's binary: %w", err)
		}
		return program{path: binary, started: nothing, remove: nothing}, nil
	}
	built, err := target(name, info.GetProgramDirectory())
	if err != nil {
		return program{}, err
	}
	if err := compile(ctx, built.path, info); err != nil {
		return program{}, errors.Join(err, built.started(), built.remove())
	}
	return built, nil
}

// buildAhead builds the program in the working folder to where Run will look
// for it, so that the build is over before the engine starts.
func buildAhead(ctx context.Context, name string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	built, err := build(ctx, name, &pulumirpc.ProgramInfo{RootDirectory: dir, ProgramDirectory: dir})
	if err != nil {
		return err
	}
	return errors.Join(built.started(), built.remove())
}

// target chooses where to build. In a shared folder the file is locked until
// the program runs, since a concurrent build may replace it.
func target(name, dir string) (program, error) {
	folder := os.Getenv(BuildDirEnv)
	if folder == "" {
		temporary, err := os.MkdirTemp("", "pulumi-go-")
		if err != nil {
			return program{}, fmt.Errorf("making a folder to build in: %w", err)
		}
		return program{path: filepath.Join(temporary, "program"), started: nothing,
			remove: func() error { return os.RemoveAll(temporary) }}, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return program{}, fmt.Errorf("making the folder to build in: %w", err)
	}
	// Two clones of a project build two programs.
	sum := sha256.Sum256([]byte(dir))
	path := filepath.Join(folder, filepath.Base(name)+"-"+hex.EncodeToString(sum[:6]))
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return program{}, fmt.Errorf("locking %s: %w", path, err)
	}
	for {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
		// A signal of the runtime may interrupt the wait.
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return program{}, errors.Join(fmt.Errorf("locking %s: %w", path, err), lock.Close())
	}
	return program{path: path, started: lock.Close, remove: nothing}, nil
}

func compile(ctx context.Context, out string, info *pulumirpc.ProgramInfo) error {
	pkg := "."
	if entry := info.GetEntryPoint(); entry != "" && entry != "." {
		pkg = "./" + filepath.ToSlash(entry)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = info.GetProgramDirectory()
	if message, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program in %s: %w\n%s", cmd.Dir, err, bytes.TrimSpace(message))
	}
	return nil
}

// run starts cmd, which runs p, and waits for its end.
func (p program) run(cmd *exec.Cmd) error {
	startErr := cmd.Start()
	if err := p.started(); err != nil {
		return errors.Join(startErr, fmt.Errorf("releasing %s: %w", p.path, err))
	}
	if startErr != nil {
		return errors.Join(fmt.Errorf("starting the program: %w", startErr), p.remove())
	}
	err := cmd.Wait()
	if removeErr := p.remove(); removeErr != nil && err == nil {
		return fmt.Errorf("removing the built program: %w", removeErr)
	}
	return err
}
