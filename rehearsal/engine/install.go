package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// link makes to the same file as from, a copy where the file systems differ.
func link(from, to string) error {
	a, err := os.Stat(from)
	if err != nil {
		return err
	}
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, a.Mode().Perm())
}

// stageChart copies the chart into the project, since Helm takes a local chart
// from a folder. An existing copy is made anew: it is small, and its content
// must be the module's.
func stageChart(from, to string) error {
	tmp, err := os.MkdirTemp(mkparent(to), ".chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	staged := filepath.Join(tmp, "chart")
	if err := os.CopyFS(staged, os.DirFS(from)); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(staged, to)
}

// mkparent creates the parent folder; a failure shows at the next step.
func mkparent(path string) string {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return parent
	}
	return parent
}
