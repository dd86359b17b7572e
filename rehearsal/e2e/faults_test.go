package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ray-on-aks/rehearsal/report"
)

var (
	faultCount = flag.Int("faults", 20, "how many faults TestFaults injects")
	faultSeed  = flag.Uint64("seed", 1, "what they are drawn from: the same seed gives the same faults")
)

// bystander is a job that runs all the time, and must not notice.
const bystander = "smoke"

// TestFaults brings a team with a pool and a job into a stack that is up, and
// takes it out again, with a fault in the middle of one of the two updates. The
// same command once more must end where an update without a fault ends.
func TestFaults(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-faults")
	e.supervise()
	e.outcome(36000)
	e.only(bystander)
	for _, key := range []string{poolsKey + "serve", poolsKey + "a100", queuesKey + "teams.language"} {
		e.unset(key) // a small stack makes for many faults
	}
	e.set("ray-on-aks:infra.storage", map[string]any{"containers": []any{"models"}})
	e.set(smokeKey+"retries", 100)
	e.pulumi("up", "--yes", "--skip-preview")
	run := e.runOf(bystander)
	e.awaitState(run, "running", running)
	watch := e.watchClusters()

	// Before there are CRDs the provider takes every kind for one that has a
	// namespace, and says so in its books until the next update.
	e.pulumi("up", "--yes", "--skip-preview")
	empty := e.snapshot("‹none›")
	full := e.faultless(empty)
	random := rand.New(rand.NewPCG(*faultSeed, 0))
	survived, struck, began := 0, 0, time.Now()
	for i := range *faultCount {
		f := e.draw(random, i)
		if err := e.survive(f, empty, full); err != nil {
			t.Errorf("fault %d of seed %d: %s: %v", i, *faultSeed, f, err)
			break
		}
		survived++
		if f.struck {
			struck++
		}
		t.Logf("fault %d: %s: %s", i, f, f.met)
	}
	// A fault may come too late for a step that was drawn: an update has not always as many.
	if survived == *faultCount && struck < survived*3/4 {
		t.Errorf("only %d of %d faults happened", struck, survived)
	}
	e.awaitState(run, "admitted", func(j report.Job) bool { return j.Queue() == "admitted" })
	if err := watch(); err != nil {
		t.Error(err)
	}
	fmt.Printf("seed %d: %d faults survived of %d, %d of them in time for a step; %.0f s each\n", *faultSeed, survived, *faultCount, struck,
		time.Since(began).Seconds()/float64(max(1, survived)))
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// faultless makes the change and takes it back without a fault, and answers what
// the stack is in between.
func (e *env) faultless(empty state) state {
	e.Helper()
	const name = "t0"
	e.bring(name)
	e.pulumi("up", "--yes", "--skip-preview")
	e.admitted(name)
	full := e.snapshot(name)
	e.take(name)
	e.pulumi("up", "--yes", "--skip-preview")
	if diff := empty.diff(e.snapshot(name)); diff != "" {
		e.Fatalf("a team that comes and goes leaves a difference, without any fault:\n%s", diff)
	}
	return full
}

// bring puts a team, its own pool and a job of it into the stack file, and a tag
// that changes what is there.
func (e *env) bring(name string) {
	e.Helper()
	e.set(queuesKey+"teams."+name, map[string]any{"share": 1})
	e.set(poolsKey+name, map[string]any{"vmSize": "Standard_NC24ads_A100_v4", "max": 1})
	e.set("ray-on-aks:infra.tags", map[string]any{"try": name})
	e.set(workloadsKey+name, map[string]any{
		"enabled": true, "team": name, "entrypoint": "python -m this", "workers": 1,
		"worker": map[string]any{"cpus": "1", "memory": "1Gi"},
	})
}

// take undoes bring.
func (e *env) take(name string) {
	e.Helper()
	for _, key := range []string{queuesKey + "teams." + name, poolsKey + name, "ray-on-aks:infra.tags", workloadsKey + name} {
		e.unset(key)
	}
}

// admitted waits until the job of that name has its quota.
func (e *env) admitted(name string) {
	e.Helper()
	e.awaitState(e.runOf(name), "admitted", func(j report.Job) bool { return j.Queue() == "admitted" })
}

// survive lets the fault happen, runs the same command again, and says what then
// differs from an update without a fault.
func (e *env) survive(f *fault, empty, full state) error {
	e.bring(f.name)
	if f.removing {
		if _, err := e.again(); err != nil {
			return fmt.Errorf("before the fault: %w", err)
		}
		e.take(f.name)
	}
	e.suffer(f)
	e.apiAnswers()
	if out, err := e.again(); err != nil {
		return fmt.Errorf("%s; the same command again: %w\n%s", f.met, err, out)
	}
	if f.removing {
		return empty.after(e, f)
	}
	e.admitted(f.name)
	if err := full.after(e, f); err != nil {
		return err
	}
	e.take(f.name)
	if out, err := e.again(); err != nil {
		return fmt.Errorf("taking it back: %w\n%s", err, out)
	}
	return empty.after(e, f)
}
