package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/cloud"
)

// destroyLimit is how long a stack may take to go, whatever state it is in. A
// cluster's deletion takes what is in it along, so nothing in it is waited for.
const destroyLimit = 2 * time.Minute

// TestClustersThatAreLostOrSilent: a cluster that somebody else has deleted is made
// again with all that was in it, by an update that is told so; and a stack can be
// taken away with jobs that run and wait, while its API server does not answer and
// neither Kueue nor KubeRay is there to end anything, and where the cluster is gone.
func TestClustersThatAreLostOrSilent(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-destroy")
	e.supervise()
	e.only("smoke", "llm-training", "llm-serving")
	e.outcome(longRun)
	e.pulumi("up", "--yes", "--skip-preview")
	run := e.runOf("smoke")
	e.awaitState(run, "running", running)

	e.loseCluster()
	e.pulumi("up", "--yes", "--skip-preview", "--replace", "**::infra-cluster")
	e.awaitState(run, "running", running)
	e.unchanged("with the cluster made again")

	e.drain("weather")
	e.silence()
	e.destroy("while nothing answers and a queue drains")
	e.pulumi("up", "--yes", "--skip-preview")
	e.awaitState(run, "running", running)
	e.loseCluster()
	e.destroy("with the cluster deleted")
}

// destroy takes the stack away in time, and all of it.
func (e *env) destroy(state string) {
	e.Helper()
	start := time.Now()
	if _, err := e.try("destroy", "--yes", "--skip-preview"); err != nil {
		e.Fatalf("destroy %s: %v", state, err)
	}
	if took := time.Since(start); took > destroyLimit {
		e.Errorf("destroy %s took %s, more than %s", state, took, destroyLimit)
	}
	e.checkGone()
}

// drain deletes a queue by hand that a job has its quota from: it goes only when
// the job has ended.
func (e *env) drain(queue string) {
	e.Helper()
	queues := e.reader().Kueue.KueueV1beta2().ClusterQueues()
	must(e.T, queues.Delete(e.Context(), queue, metav1.DeleteOptions{}))
	found, err := queues.Get(e.Context(), queue, metav1.GetOptions{})
	must(e.T, err)
	if found.DeletionTimestamp == nil {
		e.Errorf("ClusterQueue %s does not drain: %v", queue, found.Status.Conditions)
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
