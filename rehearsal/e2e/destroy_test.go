package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ray-on-aks/rehearsal/cloud"
)

// destroyLimit is how long a stack may take to go, whatever state it is in. A
// cluster's deletion takes what is in it along, so nothing in it is waited for.
const destroyLimit = 2 * time.Minute

// TestDestroyEnds takes a stack away that is not well: with jobs that run and
// wait, once while its API server does not answer and neither Kueue nor KubeRay
// is there to end anything, and once when somebody else has deleted the cluster.
func TestDestroyEnds(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-destroy")
	e.supervise()
	e.only("smoke", "llm-training", "llm-serving")
	for name, trouble := range map[string]func(){
		"while nothing answers":    e.silence,
		"with the cluster deleted": e.loseCluster,
	} {
		e.outcome(longRun)
		e.pulumi("up", "--yes", "--skip-preview")
		e.awaitState(e.runOf("smoke"), "running", running)
		trouble()
		start := time.Now()
		out, err := e.try("destroy", "--yes", "--skip-preview")
		if err != nil {
			t.Fatalf("destroy %s: %v\n%s", name, err, out)
		}
		if took := time.Since(start); took > destroyLimit {
			t.Errorf("destroy %s took %s, more than %s", name, took, destroyLimit)
		}
		e.checkGone()
	}
}

// silence stops the API server, and kills what would end the objects in it.
func (e *env) silence() {
	e.Helper()
	must(e.T, e.killPart("pod-kueue-*"))
	must(e.T, e.killPart("pod-kuberay-*"))
	must(e.T, e.signalPart("kube-apiserver", syscall.SIGSTOP))
}

// loseCluster deletes the cluster in the cloud, past the stack, with all that is
// below it.
func (e *env) loseCluster() {
	e.Helper()
	must(e.T, cloud.Open(e.dir.Cloud()).Update(func(r cloud.Resources) error {
		for id := range r {
			if strings.Contains(id, "/managedClusters/") {
				delete(r, id)
			}
		}
		return nil
	}))
	e.eventually(time.Minute, func() error {
		if _, err := os.Stat(e.kubeconfig()); err == nil {
			return errNotYet
		}
		return nil
	})
}
