// Package layout names the files of one rehearsal.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// EnvDir is the environment variable by which the emulated providers find the
// rehearsal that they belong to.
const EnvDir = "REHEARSAL_DIR"

// Dir is the absolute path of a rehearsal's folder. Everything that a
// rehearsal writes lies below it, but for the sockets.
type Dir string

// Open answers the rehearsal in path, creating the folder.
func Open(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fmt.Errorf("creating the rehearsal's folder: %w", err)
	}
	return Dir(abs), nil
}

// Join answers a path below the folder.
func (d Dir) Join(parts ...string) string {
	return filepath.Join(append([]string{string(d)}, parts...)...)
}

// Cloud is the file that holds the emulated cloud.
func (d Dir) Cloud() string { return d.Join("cloud.json") }

// Cluster is the folder of an emulated ManagedCluster by its name.
func (d Dir) Cluster(name string) string { return d.Join("clusters", name) }

// ClusterKubeconfig exists while the cluster's API server can be used.
func (d Dir) ClusterKubeconfig(name string) string {
	return filepath.Join(d.Cluster(name), "kubeconfig")
}

// Outcomes is the file by which a test tells the head stand-in how simulated
// Ray jobs are to run.
func (d Dir) Outcomes() string { return d.Join("outcomes.json") }

// Faults is the file by which a test tells the emulated cloud what is to fail.
func (d Dir) Faults() string { return d.Join("faults.json") }

// Sockets answers a private folder for Unix sockets. It lies in the temporary
// folder, since a socket's path may have no more than 107 bytes and a checkout
// may lie deep; its name is derived from the rehearsal's folder.
func (d Dir) Sockets() (string, error) {
	dir := d.socketPath()
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", fmt.Errorf("creating the folder for sockets: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 ||
		!ok || int(stat.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a private folder of this user; remove it", dir)
	}
	return dir, nil
}

func (d Dir) socketPath() string {
	sum := sha256.Sum256([]byte(d))
	return filepath.Join(os.TempDir(), "ray-on-aks-"+hex.EncodeToString(sum[:6]))
}

// Remove deletes the rehearsal's folder and its sockets.
func (d Dir) Remove() error {
	if err := os.RemoveAll(d.socketPath()); err != nil {
		return err
	}
	return os.RemoveAll(string(d))
}
