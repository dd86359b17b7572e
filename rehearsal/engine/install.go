package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"ray-on-aks/rehearsal/toolchain"
	"syscall"
)

// link makes to the same file as from, or a copy where the file systems differ.
func link(from, to string) error {
	a, err := os.Stat(from)
	if err != nil {
		return err
	}
	b, err := os.Stat(to)
	if err == nil && (os.SameFile(a, b) || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	fresh := to + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(from, fresh) != nil {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(fresh, data, a.Mode().Perm()); err != nil {
			return err
		}
		if err := os.Chtimes(fresh, a.ModTime(), a.ModTime()); err != nil {
			return err
		}
	}
	return os.Rename(fresh, to)
}

// stageChart copies the chart into the project, since Helm takes a local chart
// from a folder. All rehearsals of a checkout share the copy, so one that is
// right already is left alone.
func stageChart(from, to string) error {
	parent := filepath.Dir(to)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(parent, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", parent, err)
	}
	want, err := treeSum(from)
	if err != nil {
		return err
	}
	if have, err := treeSum(to); err != nil || have == want {
		return err
	}
	tmp, err := os.MkdirTemp(parent, ".chart-")
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

// treeSum hashes all files in a folder; one that is absent has none.
func treeSum(dir string) (string, error) {
	h := sha256.New()
	err := toolchain.HashTree(h, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
