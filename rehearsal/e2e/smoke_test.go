// Package e2e runs the unmodified program on rehearsed clusters and reads from
// the API what became of it. Its tests run side by side, each on a rehearsal of
// its own.
package e2e

import (
	"fmt"
	"maps"
	"os"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"

	"ray-on-aks/rehearsal/report"
)

// TestSmokeJob follows one job through the whole program, in every state, to
// the end of the stack.
func TestSmokeJob(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-smoke")
	e.supervise()
	follower := e.follow(os.Stderr)
	e.only("smoke")

	e.pulumi("up", "--yes")
	first := e.onlyRun()
	e.checkRan(follower, first)
	e.noChanges(first, "finished", ended)

	release := e.fillQueues()
	e.outcome(longRun)
	e.set(smokeKey+"generation", 2)
	out := e.pulumi("up", "--yes", "--skip-preview")
	if got, want := changes(out), map[string]int{"created": 1, "deleted": 1}; !maps.Equal(got, want) {
		t.Errorf("a changed run made %v, want %v\n%s", got, want, out)
	}
	second := e.onlyRun()
	if second == first {
		t.Errorf("the changed run has the name of the old one, %s", first)
	}
	e.noChanges(second, "pending", pending)
	release()
	e.noChanges(second, "running", running)
	e.outcome(0)
	e.checkRan(follower, second)
	e.noChanges(second, "finished", ended)
	e.forget(second)

	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// forget has Kueue delete its record of the run, which the rehearsal would see a
// week later, and asserts that the run is not made again, by `up` or by Kueue.
func (e *env) forget(run string) {
	e.Helper()
	e.set(operatorsKey+"kueue.retainFinished", "1s")
	e.pulumi("up", "--yes", "--skip-preview")
	e.noChanges(run, "without a record in Kueue", forgotten)
	if j, err := e.job(run); err != nil || j.Queue() != "finished" || !j.Succeeded() {
		e.Errorf("%s is %s, Ray job %s after Kueue has forgotten it: %v", run, j.Queue(), j.RayJob.Status.JobStatus, err)
	}
}

// longRun keeps a simulated job running until the test shortens it, in seconds.
const longRun = 600

func pending(j report.Job) bool { return j.Queue() == "pending" }
func running(j report.Job) bool { return j.RayJob.Status.JobStatus == rayv1.JobStatusRunning }
func ended(j report.Job) bool   { return j.Ended() }

func forgotten(j report.Job) bool { return j.Workload == nil && j.Ended() }

// noChanges waits until the run is in the state, and asserts that `up`, and
// then refresh and `up`, change nothing while it stays in it.
func (e *env) noChanges(run, state string, in func(report.Job) bool) {
	e.Helper()
	e.awaitState(run, state, in)
	e.unchanged("while the job is " + state)
	e.pulumi("refresh", "--yes", "--skip-preview")
	e.unchanged("after a refresh while the job is " + state)
	if j, err := e.job(run); err != nil || !in(j) {
		e.Errorf("%s left the state %s meanwhile, so it was not shown: %v", run, state, fmt.Sprint(j.Queue(), err))
	}
}
