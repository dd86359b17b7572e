package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Init creates the stack if need be. Its configuration is a copy of the
// project's stack file, since the engine writes into the file that it uses;
// fresh makes the copy anew.
func (e *Engine) Init(ctx context.Context, fresh bool) error {
	copied, err := e.copyProject(fresh)
	if err != nil {
		return fmt.Errorf("copying the stack file: %w", err)
	}
	if !copied {
		return nil
	}
	for _, args := range [][]string{{"login", "file://" + e.Dir.Join("state")}, {"stack", "select", "--create", e.Stack}} {
		cmd := e.Command(ctx, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = e.Dir.Join("project"), nil, nil
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("pulumi %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

func (e *Engine) stackFile() string { return "Pulumi." + e.Stack + ".yaml" }

// copyProject copies the project's and the stack's file; the salt that the
// engine put into an earlier copy is kept, since the state depends on it.
func (e *Engine) copyProject(fresh bool) (copied bool, err error) {
	to := e.Dir.Join("project", e.stackFile())
	old, err := os.ReadFile(to)
	if err == nil && !fresh {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	config, err := os.ReadFile(filepath.Join(e.Root, e.stackFile()))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(old)) {
		if strings.HasPrefix(line, "encryptionsalt:") {
			config = append(config, line...)
		}
	}
	projectFile, err := os.ReadFile(filepath.Join(e.Root, "Pulumi.yaml"))
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, err
	}
	if err := os.WriteFile(e.Dir.Join("project", "Pulumi.yaml"), projectFile, 0o600); err != nil {
		return false, err
	}
	return true, os.WriteFile(to, config, 0o600)
}
