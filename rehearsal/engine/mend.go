package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ray-on-aks/rehearsal/atomicfile"
	"ray-on-aks/rehearsal/interrupted"
)

// mend frees the stack of the update that an engine was killed in, and finds out
// what became of what it was about to create. Nobody else can be in an update:
// this program holds the engine.
func (e *Engine) mend(ctx context.Context) error {
	broken, err := e.brokenOff()
	if err != nil || !broken {
		return err
	}
	_, err = interrupted.Recover(ctx, e.output)
	return err
}

// brokenOff says whether an engine has left its lock on the stack, or operations
// that it has not seen the end of.
func (e *Engine) brokenOff() (bool, error) {
	locks, err := filepath.Glob(e.Dir.Join("state", ".pulumi", "locks", "organization", project, e.Stack, "*.json"))
	if err != nil {
		return false, err
	}
	state, err := e.wholeState()
	return len(locks) > 0 || bytes.Contains(state, []byte(`"pending_operations"`)), err
}

// wholeState reads the stack's state. What an engine has written of it on a full
// disk is cut off; then the last whole one that was kept is put back.
func (e *Engine) wholeState() ([]byte, error) {
	path := e.stateFile()
	if err := e.dropBrokenAttributes(); err != nil {
		return nil, err
	}
	state, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil || json.Valid(state):
		return state, err
	}
	last, err := os.ReadFile(e.keptFile())
	if err != nil {
		return nil, fmt.Errorf("the stack's state %s is cut off, and no whole one was kept: %w", path, err)
	}
	return last, atomicfile.Write(path, last)
}

// dropBrokenAttributes removes what the backend writes beside the state, and not
// at once, if it was killed over it. It does without, but not with half of it.
func (e *Engine) dropBrokenAttributes() error {
	path := e.stateFile() + ".attrs"
	attributes, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || json.Valid(attributes):
		return err
	}
	return os.Remove(path)
}

// stateFile is where the backend keeps the stack's state.
func (e *Engine) stateFile() string {
	return e.Dir.Join("state", ".pulumi", "stacks", project, e.Stack+".json")
}
