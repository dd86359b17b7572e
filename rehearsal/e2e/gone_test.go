package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/process"
)

// checkGone fails if the destroyed stack left anything: in the cloud, on disk
// or as a process.
func (e *env) checkGone() {
	e.Helper()
	must(e.T, cloud.Open(e.dir.Cloud()).View(func(r cloud.Resources) error {
		for id := range r {
			e.Errorf("left in the emulated cloud: %s", id)
		}
		return nil
	}))
	e.eventually(30*time.Second, func() error {
		planes, err := os.ReadDir(e.dir.Join("planes"))
		if err != nil {
			return err
		}
		if len(planes) > 0 || e.kubeconfig() != "" {
			return fmt.Errorf("the control plane is still there: %v", planes)
		}
		return nil
	})
	if left := processes(e.dir); len(left) != 1 || !strings.Contains(left[0], "supervise") {
		e.Errorf("processes after destroy, beside the supervisor: %s", strings.Join(left, "\n"))
	}
	if process.Alive(string(e.dir), "supervisor") == 0 {
		e.Error("the supervisor ended with the cluster")
	}
}

// processes answers the command lines of all processes of a rehearsal: those
// that name its folder, and those that were given it by environment.
func processes(dir layout.Dir) []string {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, entry := range entries {
		// A process that ends while it is looked at has no files any more.
		line, lineErr := os.ReadFile(filepath.Join(entry, "cmdline"))
		environ, environErr := os.ReadFile(filepath.Join(entry, "environ"))
		args := strings.Split(string(line), "\x00")
		named := slices.ContainsFunc(args, func(arg string) bool {
			return strings.Contains(arg, string(dir)+"/") || strings.HasSuffix(arg, string(dir))
		})
		given := slices.Contains(strings.Split(string(environ), "\x00"), layout.EnvDir+"="+string(dir))
		if lineErr == nil && named || environErr == nil && given {
			found = append(found, strings.Join(args, " "))
		}
	}
	return found
}
