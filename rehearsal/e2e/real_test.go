package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// pythonVar names the environment in which TestRealRay runs Ray; make sets it.
const pythonVar = "RAY_PYTHON"

// TestRealRay runs the catalog's own programs: queued by Kueue, submitted by
// KubeRay, executed by Ray, with models of a few weights.
func TestRealRay(t *testing.T) {
	python := os.Getenv(pythonVar)
	if python == "" {
		t.Skipf("%s names no environment with Ray and the libraries of models", pythonVar)
	}
	e := newEnv(t, "e2e-real")
	e.supervise("-ray", python)
	e.follow(os.Stderr)
	e.only("smoke", "stage")
	e.set(workloadsKey+"stage.env", map[string]any{"STAGE_SOURCE": "tiny"})
	e.pulumi("up", "--yes")
	for _, name := range []string{"smoke", "stage"} {
		e.finishes(e.runOf(name), 10*time.Minute)
	}
	if brought, err := filepath.Glob(e.dir.Join("storage", "models", "*", "*")); err != nil || len(brought) == 0 {
		t.Errorf("stage has brought no model: %v, %v", brought, err)
	}
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// finishes waits until the run has ended well.
func (e *env) finishes(run string, within time.Duration) {
	e.Helper()
	e.eventually(within, func() error {
		j, err := e.job(run)
		if err != nil {
			return err
		}
		if j.Ended() && !j.Succeeded() {
			e.Fatalf("%s failed: %s", run, j.RayJob.Status.Message)
		}
		if !j.Ended() {
			return errNotYet
		}
		return nil
	})
}
