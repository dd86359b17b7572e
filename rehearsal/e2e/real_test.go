package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"ray-on-aks/rehearsal/report"
)

// pythonVar names the environment in which TestRealRay runs Ray; make sets it.
const pythonVar = "RAY_PYTHON"

// realRun is how long a program may take on a machine of two cores.
const realRun = 10 * time.Minute

// TestRealRay runs the catalog's own programs, with models of a few weights:
// queued by Kueue, submitted by KubeRay, executed by Ray. A training that is
// preempted goes on from its checkpoint and ends with the adapter of one that is
// not; a batch and a service answer with it.
func TestRealRay(t *testing.T) {
	python := os.Getenv(pythonVar)
	if python == "" {
		t.Skipf("%s names no environment with Ray and the libraries of models", pythonVar)
	}
	e := newEnv(t, "e2e-real")
	e.supervise("-ray", python)
	follower := report.NewFollower(e.kubeconfig, os.Stderr)
	follower.Interval = report.Leisure
	e.run(follower)
	e.set(queuesKey+"shape", "single")
	e.only("stage")
	e.set(workloadsKey+"stage.env.STAGE_ITEMS", "qwen,viggo")
	e.set(workloadsKey+"llm-training.workers", 1)
	e.set(workloadsKey+"llm-training.priority", "low")
	for name, value := range map[string]string{"LLM_THREADS": "1", "LLM_MAX_STEPS": "12", "LLM_CHECKPOINT_STEPS": "2"} {
		e.set(workloadsKey+"llm-training.env."+name, value)
	}
	e.pulumi("up", "--yes")
	e.finishes("stage")

	preempted := e.trainPreempted()
	e.set(workloadsKey+"llm-training.generation", 1)
	e.pulumi("up", "--yes", "--skip-preview")
	if whole := e.said(e.finishes("llm-training"), "done"); whole["adapter"] != preempted {
		t.Errorf("preempted, the training made the adapter %v, else %v", preempted, whole["adapter"])
	}

	e.only("batch-inference")
	e.pulumi("up", "--yes", "--skip-preview")
	batch := e.said(e.finishes("batch-inference"), "done")
	if batch["adapter"] != preempted || batch["errors"] != 0.0 {
		t.Errorf("the batch says %v, the adapter is %v", batch, preempted)
	}
	predictions := e.dir.Join("storage", "llm-pipeline", "runs", e.outputs().Runs["batch-inference"].ID, fmt.Sprint(batch["predictions"]))

	e.only("llm-serving")
	e.pulumi("up", "--yes", "--skip-preview")
	e.checkServedAs(e.served("llm-serving", realRun), preempted, predictions)
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// TestRealRayByMake runs the README's long form of a rehearsal, on a copy of the
// checkout: every job of the catalog ends well, and every service answers.
func TestRealRayByMake(t *testing.T) {
	if os.Getenv(pythonVar) == "" {
		t.Skipf("%s names no environment with Ray and the libraries of models", pythonVar)
	}
	root, err := filepath.Abs("../..")
	must(t, err)
	e := &env{T: t, root: root}
	out, err := e.tryIn(e.copyCheckout(t.TempDir()), "trap 'make rehearse-down' EXIT; make rehearse RAY=real")
	if err != nil {
		t.Fatalf("%v\n%s", err, out[max(0, len(out)-8000):])
	}
	for _, job := range []string{"smoke", "stage", "aurora-finetune", "llm-training", "gpt2-tuning", "batch-inference"} {
		if !regexp.MustCompile(`(?m)^ray-\w+/` + job + `-[0-9a-f]{8} .* admitted, finished .* SUCCEEDED\s*$`).MatchString(out) {
			t.Errorf("%s has not succeeded", job)
		}
	}
	for _, service := range []string{"online-serving", "llm-serving"} {
		if !regexp.MustCompile(`(?m)^\S+ ` + service + `: ready, with [1-9]`).MatchString(out) {
			t.Errorf("%s has not become ready", service)
		}
	}
	if t.Failed() {
		t.Log(out[max(0, len(out)-8000):])
	}
}

// trainPreempted has a training preempted in the middle and answers the adapter
// that it makes in the end.
func (e *env) trainPreempted() any {
	e.Helper()
	e.only("llm-training")
	// It waits before its third checkpoint, as in the programs' own tests (tests/held): no machine is too fast.
	hold := e.dir.Join("held", "at")
	must(e.T, os.Mkdir(filepath.Dir(hold), 0o700))
	must(e.T, os.WriteFile(hold, []byte("step-000000006.*"), 0o600))
	e.set(workloadsKey+"llm-training.env.PYTHONPATH", filepath.Join(e.root, "workloads", "entrypoints", "tests", "held"))
	e.set(workloadsKey+"llm-training.env.TESTED_HOLD", hold)
	e.pulumi("up", "--yes", "--skip-preview")
	run := e.runOf("llm-training")
	e.eventually(realRun, func() error {
		_, err := os.Stat(e.dir.Join("held", "pid"))
		return err
	})
	urgent := map[string]any{
		"enabled": true, "team": "language", "priority": "high", "entrypoint": "sleep 1",
		"worker": map[string]any{"cpus": "11", "memory": "110Gi", "gpus": 8},
	}
	e.set(workloadsKey+"urgent", urgent)
	released := e.releaseWhenAsked(hold)
	e.pulumi("up", "--yes", "--skip-preview")
	must(e.T, <-released)
	e.eventually(time.Minute, func() error {
		j, err := e.job(run)
		if err != nil || running(j) || j.Ended() {
			return errNotYet
		}
		return nil
	})
	e.finishes("urgent")
	job := e.finishes("llm-training")
	e.unset(workloadsKey + "urgent")
	if step, _ := e.said(job, "resumed")["step"].(float64); step != 7 {
		e.Errorf("the training has gone on from step %v; it was asked to save step 7, between two checkpoints", step)
	}
	return e.said(job, "done")["adapter"]
}

// releaseWhenAsked lets a held training go on when its pods' hook has asked its
// driver to stop, which may be before an update ends.
func (e *env) releaseWhenAsked(hold string) <-chan error {
	e.Helper()
	sockets, err := e.dir.Sockets()
	must(e.T, err)
	drivers := filepath.Join(sockets, "*", "session_latest", "logs", "job-driver-*.log")
	released := make(chan error, 1)
	go func() {
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			logs, err := filepath.Glob(drivers)
			if err != nil {
				released <- err
				return
			}
			for _, log := range logs {
				// Ray removes it with the pod.
				if data, err := os.ReadFile(log); err == nil && bytes.Contains(data, []byte(`"asked_to_stop"`)) {
					released <- os.Remove(hold)
					return
				}
			}
		}
		released <- errors.New("no program was asked to stop when its pods were taken away")
	}()
	return released
}

// finishes waits until the workload's run has ended well.
func (e *env) finishes(workload string) report.Job {
	e.Helper()
	run := e.runOf(workload)
	var job report.Job
	e.eventually(realRun, func() error {
		var err error
		if job, err = e.job(run); err != nil {
			return err
		}
		if job.Ended() && !job.Succeeded() {
			e.Fatalf("%s failed: %s", run, job.RayJob.Status.Message)
		}
		if !job.Ended() {
			return errNotYet
		}
		return nil
	})
	return job
}

// logLine finds what a program logs; lines that Ray brings from workers have a
// beginning of their own.
var logLine = regexp.MustCompile(`(?m)\{"time".*\}$`)

// said answers the last event of that name in the job's log.
func (e *env) said(job report.Job, name string) map[string]any {
	e.Helper()
	data, err := os.ReadFile(e.dir.Join("ray", "jobs", job.RayJob.Status.JobId+".log"))
	must(e.T, err)
	var last map[string]any
	for _, line := range logLine.FindAll(data, -1) {
		var event map[string]any
		if json.Unmarshal(line, &event) == nil && event["event"] == name {
			last = event
		}
	}
	if last == nil {
		e.Errorf("%s has not said %q:\n%s", job.RayJob.Name, name, data[max(0, len(data)-4000):])
	}
	return last
}
