package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fsnotify/fsnotify"
)

// kept is how many of the last states are kept while an engine works.
const kept = 3

// keepStates keeps the last states that the engine writes, as names of the same
// files, which take no room of their own while the state is there. On a full disk
// the backend puts what it could write of a state in the place of the whole one,
// and of its copy. The answer stops it.
func (e *Engine) keepStates() (stop func() error, err error) {
	for _, folder := range []string{e.keptDir(), filepath.Dir(e.stateFile())} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching the stack's state: %w", err)
	}
	if err := watcher.Add(filepath.Dir(e.stateFile())); err != nil {
		return nil, errors.Join(fmt.Errorf("watching the stack's state: %w", err), watcher.Close())
	}
	done := make(chan error, 1)
	go func() {
		var problem error
		for n := 0; ; n++ {
			if err := e.keep(n % kept); err != nil {
				problem = err
			}
			event, open := <-watcher.Events
			for open && (event.Name != e.stateFile() || !event.Has(fsnotify.Create)) {
				event, open = <-watcher.Events
			}
			if !open {
				done <- problem
				return
			}
		}
	}()
	return func() error { return errors.Join(watcher.Close(), <-done) }, nil
}

// keep gives the present state a second name.
func (e *Engine) keep(n int) error {
	name := filepath.Join(e.keptDir(), strconv.Itoa(n))
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(e.stateFile(), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keeping the stack's state: %w", err)
	}
	return nil
}

// keptDir is on the same disk as the state, and not where the backend looks for
// stacks.
func (e *Engine) keptDir() string { return e.Dir.Join("state", "kept", e.Stack) }
