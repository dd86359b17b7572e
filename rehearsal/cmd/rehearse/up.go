package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ray-on-aks/rehearsal/engine"
	"ray-on-aks/rehearsal/report"
)

const (
	// jobsDeadline bounds the wait for simulated jobs and services, which take seconds.
	jobsDeadline = 5 * time.Minute
	// realDeadline is for those that a real Ray runs, on a machine of two cores.
	realDeadline = 30 * time.Minute
)

// phase runs a step and prints how long it took.
func phase(name string, f func() error) error {
	start := time.Now()
	err := f()
	fmt.Printf("== %s: %.1f s\n", name, time.Since(start).Seconds())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *rehearsal) up(ctx context.Context) error {
	e, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	followed, cancel := context.WithCancel(ctx)
	defer cancel()
	follower := report.NewFollower(r.clusterKubeconfig, os.Stdout)
	if r.python != "" {
		follower.Interval = report.Leisure
	}
	go follower.Run(followed)
	if r.python != "" {
		return r.bringInWaves(ctx, e, follower)
	}
	return r.bring(ctx, e, follower, jobsDeadline)
}

// bring brings the stack up as its file is now, and waits for what runs.
func (r *rehearsal) bring(ctx context.Context, e *engine.Engine, follower *report.Follower, deadline time.Duration) error {
	if err := phase("pulumi up", func() error { return e.Run(ctx, os.Stdout, "up", "--yes", "--suppress-progress") }); err != nil {
		return errors.Join(err, fmt.Errorf("the supervisor's log is %s", r.supervisorLog()))
	}
	outputs, err := e.Outputs(ctx)
	if err != nil {
		return err
	}
	runs, err := runsOf(outputs)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var seen []report.Seen
	waitErr := phase("jobs", func() (err error) {
		seen, err = follower.Wait(waiting, jobNames(runs))
		return err
	})
	waitErr = errors.Join(waitErr, phase("services", func() error { return r.awaitServices(waiting, runs) }))
	text, err := json.MarshalIndent(outputs, "", "  ")
	if err != nil {
		return err
	}
	fmt.Printf("outputs: %s\n\n", text)
	if err := errors.Join(report.PrintSeen(os.Stdout, seen), waitErr); err != nil {
		return err
	}
	return failed(seen)
}

// prepare builds what an up needs, and starts the engine.
func (r *rehearsal) prepare(ctx context.Context) (*engine.Engine, error) {
	err := phase("toolchain", func() error {
		_, err := r.tools.Ensure(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var e *engine.Engine
	err = phase("engine", func() (err error) {
		// The engine's lock first: starting a supervisor sweeps up what an earlier
		// one left, which must not be another command's engine.
		if e, err = r.engine(ctx, true); err != nil {
			return err
		}
		if err = r.checkRay(); err != nil {
			return err
		}
		return r.ensureSupervisor()
	})
	if err != nil {
		return nil, err
	}
	return e, phase("program", func() error { return e.Build(ctx) })
}

// failed is the error of the first job that did not succeed.
func failed(seen []report.Seen) error {
	for _, s := range seen {
		if !s.Job.Succeeded() || !s.Admitted {
			return fmt.Errorf("job %s did not succeed: %s, %s", s.Job.RayJob.Name, s.Job.Queue(), s.Job.RayJob.Status.Message)
		}
	}
	return nil
}

// runsOf reads the runs out of the stack's outputs, by workload.
func runsOf(outputs map[string]any) (map[string]report.Run, error) {
	data, err := json.Marshal(outputs["runs"])
	if err != nil {
		return nil, err
	}
	var runs map[string]report.Run
	if err := json.Unmarshal(data, &runs); err != nil || runs == nil {
		return nil, fmt.Errorf("the stack's output runs is %s, not its runs by workload", data)
	}
	return runs, nil
}

// jobNames lists the RayJobs among the runs, in the order of their workloads.
func jobNames(runs map[string]report.Run) []string {
	var names []string
	for _, workload := range slices.Sorted(maps.Keys(runs)) {
		if run := runs[workload]; run.Kind == "RayJob" {
			names = append(names, run.Name)
		}
	}
	return names
}

// awaitServices waits until every RayService answers.
func (r *rehearsal) awaitServices(ctx context.Context, runs map[string]report.Run) error {
	reader, err := r.reader()
	if err != nil {
		return err
	}
	for _, workload := range slices.Sorted(maps.Keys(runs)) {
		if run := runs[workload]; run.Kind == "RayService" {
			w := report.Waiter{Reader: reader, Workload: workload, Run: run, Interval: time.Second, Progress: os.Stdout}
			if err := w.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// errNoCluster says that there is nothing to look at.
var errNoCluster = errors.New("no cluster is up; run `make rehearse`")

// clusterKubeconfig answers the kubeconfig of the one cluster that is up, or
// "" while there is none.
func (r *rehearsal) clusterKubeconfig() string {
	paths, err := filepath.Glob(r.dir.ClusterKubeconfig("*"))
	if err != nil || len(paths) == 0 {
		return ""
	}
	return paths[0]
}

// reader reads the one cluster that is up.
func (r *rehearsal) reader() (*report.Reader, error) {
	path := r.clusterKubeconfig()
	if path == "" {
		return nil, errNoCluster
	}
	return report.Open(path)
}

func (r *rehearsal) status(ctx context.Context) error {
	reader, err := r.reader()
	if err != nil {
		return err
	}
	jobs, err := reader.Jobs(ctx)
	if err != nil {
		return err
	}
	fmt.Println("kubeconfig:", r.clusterKubeconfig())
	return report.Print(os.Stdout, jobs)
}
