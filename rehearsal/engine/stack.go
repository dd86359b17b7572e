package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ray-on-aks/rehearsal/atomicfile"
)

// Init creates the stack if need be. Its configuration is a copy of the
// project's stack file, since the engine writes into the file that it uses;
// fresh makes the copy anew.
func (e *Engine) Init(ctx context.Context, fresh bool) error {
	created := e.Dir.Join("project", ".created")
	if _, err := os.Stat(created); err == nil && !fresh {
		return nil
	}
	if err := e.copyProject(); err != nil {
		return fmt.Errorf("copying the stack file: %w", err)
	}
	for _, args := range [][]string{{"login", "file://" + e.Dir.Join("state")}, {"stack", "select", "--create", e.Stack}} {
		if err := e.inProject(ctx, args...); err != nil {
			return err
		}
	}
	return os.WriteFile(created, nil, 0o600)
}

// Beside makes another stack of the project in the same backend, with this
// stack file, and answers an engine that runs on it.
func (e *Engine) Beside(ctx context.Context, stack string, config []byte) (*Engine, error) {
	other := *e
	other.Stack = stack
	if err := atomicfile.Write(other.Dir.Join("project", other.stackFile()), config); err != nil {
		return nil, fmt.Errorf("writing the stack file: %w", err)
	}
	return &other, other.inProject(ctx, "stack", "init", stack)
}

// inProject runs a pulumi command in the folder with the copies of the stack
// files, into which the engine writes.
func (e *Engine) inProject(ctx context.Context, args ...string) error {
	var out bytes.Buffer
	cmd := e.command(ctx, e.Dir.Join("project"), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := e.run(cmd); err != nil {
		return fmt.Errorf("pulumi %s: %w\n%s", args[0], err, out.String())
	}
	return nil
}

func (e *Engine) stackFile() string { return "Pulumi." + e.Stack + ".yaml" }

// copyProject copies the project's and the stack's file; the salt that the
// engine put into an earlier copy is kept, since the state depends on it.
func (e *Engine) copyProject() error {
	to := e.Dir.Join("project", e.stackFile())
	old, err := os.ReadFile(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	config, err := os.ReadFile(filepath.Join(e.Root, e.stackFile()))
	if err != nil {
		return err
	}
	if e.Stack != rehearsed {
		own, err := os.ReadFile(filepath.Join(e.Root, "Pulumi."+rehearsed+".yaml"))
		if err != nil {
			return err
		}
		if config, err = overlay(config, own); err != nil {
			return err
		}
	}
	config = withSalt(config, old)
	projectFile, err := os.ReadFile(filepath.Join(e.Root, "Pulumi.yaml"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(e.Dir.Join("project", "Pulumi.yaml"), projectFile, 0o600); err != nil {
		return err
	}
	// At once or not at all: without the salt the state cannot be read.
	return atomicfile.Write(to, config)
}

// withSalt answers the configuration with the salt of an earlier one, if that
// has one, in place of its own.
func withSalt(config, earlier []byte) []byte {
	isSalt := func(line string) bool { return strings.HasPrefix(line, "encryptionsalt:") }
	earlierLines := slices.Collect(strings.Lines(string(earlier)))
	i := slices.IndexFunc(earlierLines, isSalt)
	if i < 0 {
		return config
	}
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(string(config))), isSalt)
	text := strings.TrimSuffix(strings.Join(lines, ""), "\n") + "\n"
	return []byte(text + strings.TrimSuffix(earlierLines[i], "\n") + "\n")
}
