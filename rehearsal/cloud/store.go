// Package cloud is the state of the emulated cloud: a JSON file that provider
// processes, the rehearsal's supervisor and tests share.
package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Record is one resource as the emulated cloud holds it. Secrets are stored
// opened, which is why the file is readable by its owner alone.
type Record struct {
	// Type is the Pulumi type token, e.g. azure-native:storage:StorageAccount.
	Type string `json:"type"`
	// Inputs is the body of the last write, in the shape of the Pulumi SDK.
	Inputs map[string]any `json:"inputs"`
	// Outputs is the live state, in the shape of the Pulumi SDK. Editing it is
	// how drift is made: Read reports what it says.
	Outputs map[string]any `json:"outputs"`
}

// Resources holds every resource by its ARM id.
type Resources map[string]Record

// Store reads and writes the cloud's file. It keeps nothing in memory, so any
// number of Stores, in any number of processes, may share one file.
type Store struct{ path string }

// Open names the file; neither it nor its folder need exist yet.
func Open(path string) *Store { return &Store{path: path} }

// Path is the file's name.
func (s *Store) Path() string { return s.path }

// View calls f with the current resources. What f changes is dropped.
func (s *Store) View(f func(Resources) error) error {
	// Writers replace the file by rename, so a reader needs no lock: it sees
	// the whole of one version.
	resources, err := s.read()
	if err != nil {
		return err
	}
	return f(resources)
}

// Update calls f with the current resources and, unless f answers an error,
// stores what f made of them. Updates of one file never overlap.
func (s *Store) Update(f func(Resources) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("creating the emulated cloud's folder: %w", err)
	}
	release, err := lock(s.path+".lock", true)
	if err != nil {
		return fmt.Errorf("locking the emulated cloud: %w", err)
	}
	defer func() { err = errors.Join(err, release()) }()

	resources, err := s.read()
	if err != nil {
		return err
	}
	if err := f(resources); err != nil {
		return err
	}
	return s.write(resources)
}

func (s *Store) read() (Resources, error) {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Resources{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the emulated cloud: %w", err)
	}
	resources := Resources{}
	if err := json.Unmarshal(data, &resources); err != nil {
		return nil, fmt.Errorf("decoding the emulated cloud %s: %w", s.path, err)
	}
	return resources, nil
}

// write replaces the file in one step. A crash before the rename leaves the
// former file and a stale temporary one, which the next write truncates.
func (s *Store) write(resources Resources) (err error) {
	data, err := json.MarshalIndent(resources, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the emulated cloud: %w", err)
	}
	temporary := s.path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing the emulated cloud: %w", err)
	}
	_, err = file.Write(append(data, '\n'))
	// Without the sync a power loss could leave the new name on an empty file.
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("writing the emulated cloud: %w", err)
	}
	if err := os.Rename(temporary, s.path); err != nil {
		return fmt.Errorf("replacing the emulated cloud: %w", err)
	}
	return nil
}
