package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// keepLastWhole keeps the last whole state that the engine writes, as a second
// name of the same file, which takes no room of its own. On a full disk the
// backend puts what it could write of a state in the place of the whole one, and
// of its copy, and tries so several times. The answer stops it.
func (e *Engine) keepLastWhole() (stop func() error, err error) {
	for _, folder := range []string{filepath.Dir(e.keptFile()), filepath.Dir(e.stateFile())} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	// Of one that was killed while it kept some.
	left, err := filepath.Glob(e.keptFile() + ".*")
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil {
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
	// A state is named at once, before the next takes its place, and looked at later.
	named, problems := make(chan string, 1024), make(chan error, 1)
	var unnamed error // read when named is closed
	go func() {
		defer close(named)
		for n := 0; ; n++ {
			name := fmt.Sprintf("%s.%d", e.keptFile(), n)
			switch err := os.Link(e.stateFile(), name); {
			case err == nil:
				named <- name
			case !errors.Is(err, fs.ErrNotExist):
				unnamed = fmt.Errorf("keeping the stack's state: %w", err)
				return
			}
			if !another(watcher, e.stateFile()) {
				return
			}
		}
	}()
	go func() {
		var problem error
		for name := range named {
			problem = errors.Join(problem, e.keepIfWhole(name))
		}
		problems <- errors.Join(problem, unnamed)
	}()
	return func() error { return errors.Join(watcher.Close(), <-problems) }, nil
}

// another waits until a file of the name is put in the place of the last one. It
// answers false at the end of the watch. An overflow is no end: what comes next
// is seen again.
func another(watcher *fsnotify.Watcher, name string) bool {
	for {
		select {
		case event, open := <-watcher.Events:
			if !open || event.Name == name && event.Has(fsnotify.Create) {
				return open
			}
		case _, open := <-watcher.Errors:
			if !open {
				return false
			}
		}
	}
}

// keepIfWhole makes the named state the one that is kept, unless it is cut off.
func (e *Engine) keepIfWhole(name string) error {
	state, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("keeping the stack's state: %w", err)
	}
	if !json.Valid(state) {
		return os.Remove(name)
	}
	return os.Rename(name, e.keptFile())
}

// keptFile is on the same disk as the state, and not where the backend looks for
// stacks.
func (e *Engine) keptFile() string { return e.Dir.Join("state", "kept", e.Stack+".json") }
