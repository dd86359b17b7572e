package e2e

import (
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/rehearsal/raydash"
	"ray-on-aks/rehearsal/report"
)

// TestSharing lets one team borrow what another does not use, has it given back
// when the other asks, and changes how the quota is divided under running jobs.
func TestSharing(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-sharing")
	e.supervise()
	e.follow(os.Stderr)
	e.outcome(longRun)
	e.only()
	e.set(workloadsKey+"first", fourGPUs("language"))
	e.set(workloadsKey+"second", fourGPUs("language"))
	e.pulumi("up", "--yes")
	first, second := e.runOf("first"), e.runOf("second")
	// Together they have all 8 GPUs: 4 of their own and 4 of the other team's.
	e.awaitState(first, "running", running)
	e.awaitState(second, "running", running)

	e.set(workloadsKey+"forecast", fourGPUs("weather"))
	e.pulumi("up", "--yes", "--skip-preview")
	forecast := e.runOf("forecast")
	e.awaitState(forecast, "running", running)
	preempted := e.preempted(first, second)
	e.noChanges(preempted, "preempted", wasPreempted)

	e.outcomes(map[string]raydash.Outcome{"": {Seconds: longRun}, "forecast": {}})
	e.awaitState(forecast, "finished", ended)
	e.awaitState(preempted, "running", running)

	e.switchShape(first, second)
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

func wasPreempted(j report.Job) bool {
	return j.Condition(kueue.WorkloadPreempted) && !j.Condition(kueue.WorkloadAdmitted)
}

// preempted waits until exactly one of the runs has lost its quota and its pods.
func (e *env) preempted(runs ...string) string {
	e.Helper()
	var found string
	e.eventually(time.Minute, func() error {
		found = ""
		for _, run := range runs {
			j, err := e.job(run)
			if err != nil {
				return err
			}
			if !wasPreempted(j) {
				continue
			}
			if found != "" {
				return fmt.Errorf("both %s and %s were preempted", found, run)
			}
			if len(j.Pods) > 0 {
				return fmt.Errorf("%s has pods still: %w", run, errNotYet)
			}
			found = run
		}
		if found == "" {
			return fmt.Errorf("none of %v was preempted: %w", runs, errNotYet)
		}
		return nil
	})
	return found
}

// switchShape makes one queue of the teams' and back, by config alone: running
// jobs go on in the queue that admitted them, and no queue is deleted.
func (e *env) switchShape(runs ...string) {
	e.Helper()
	uids, queues := map[string]string{}, e.clusterQueues()
	for _, run := range runs {
		j, err := e.job(run)
		must(e.T, err)
		uids[run] = string(j.RayJob.UID)
	}
	e.switchTo("single", "ray", "ray")
	for _, run := range runs {
		j, err := e.job(run)
		must(e.T, err)
		if string(j.RayJob.UID) != uids[run] || !running(j) || j.Queue() != "admitted" {
			e.Errorf("%s is %s, Ray job %s, after the switch; want it to run on", run, j.Queue(), j.RayJob.Status.JobStatus)
		}
	}
	// The jobs of both teams wait in the one queue now, and hold its whole quota.
	e.set(workloadsKey+"after", fourGPUs("weather"))
	e.pulumi("up", "--yes", "--skip-preview")
	after := e.runOf("after")
	e.awaitState(after, "pending", pending)
	e.outcome(0)
	for _, run := range append(runs, after) {
		e.awaitState(run, "finished", ended)
	}
	e.switchTo("teams", "language", "weather")
	if got := e.clusterQueues(); !maps.Equal(got, queues) {
		e.Errorf("the ClusterQueues were %v and are %v: some were made anew", queues, got)
	}
}

// switchTo changes the shape, and asserts which ClusterQueue each team's
// LocalQueue leads to and that the next update changes nothing.
func (e *env) switchTo(shape, language, weather string) {
	e.Helper()
	e.set(queuesKey+"shape", shape)
	e.pulumi("up", "--yes", "--skip-preview")
	e.unchanged("after the switch to " + shape)
	list, err := e.reader().Kueue.KueueV1beta2().LocalQueues("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	got := map[string]string{}
	for _, q := range list.Items {
		got[q.Namespace] = string(q.Spec.ClusterQueue)
	}
	if want := map[string]string{"ray-language": language, "ray-weather": weather}; !maps.Equal(got, want) {
		e.Errorf("shape %s: LocalQueues lead to %v, want %v", shape, got, want)
	}
}

// clusterQueues answers the uids of the ClusterQueues by name.
func (e *env) clusterQueues() map[string]string {
	e.Helper()
	list, err := e.reader().Kueue.KueueV1beta2().ClusterQueues().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	uids := map[string]string{}
	for _, q := range list.Items {
		uids[q.Name] = string(q.UID)
	}
	return uids
}
