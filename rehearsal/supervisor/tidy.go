package supervisor

import (
	"os"
	"path/filepath"
	"strings"
)

// tidy withdraws what an earlier supervisor left if it was killed: kubeconfigs
// of control planes that do not run, and planes that no cluster runs on.
func (s *Supervisor) tidy() error {
	kubeconfigs, err := filepath.Glob(s.dir.ClusterKubeconfig("*"))
	if err != nil {
		return err
	}
	for _, path := range kubeconfigs {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	used := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(s.dir.Cluster("*"), planeFile))
	if err != nil {
		return err
	}
	for _, file := range files {
		id, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		used[strings.TrimSpace(string(id))] = true
	}
	planes, err := filepath.Glob(s.dir.Join("planes", "*"))
	if err != nil {
		return err
	}
	for _, path := range planes {
		if !used[filepath.Base(path)] {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}
