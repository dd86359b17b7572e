// Package e2e runs the unmodified program on a rehearsed cluster and reads from
// the API what became of it.
package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/process"
	"ray-on-aks/rehearsal/report"
)

// smokeKey is the path of the smoke workload in the stack's configuration.
const smokeKey = "ray-on-aks:workloads.jobs.smoke."

// TestSmokeJob follows one job through the whole program, in every state, to
// the end of the stack.
func TestSmokeJob(t *testing.T) {
	e := newEnv(t, "e2e")
	e.supervise()
	follower := e.follow(os.Stderr)

	e.pulumi("up", "--yes")
	e.checkRan(follower, "")
	e.noChanges("finished")

	first := e.onlyRun()
	release := e.fillQueue()
	e.outcome(20)
	e.pulumi("config", "set", "--path", smokeKey+"generation", "2")
	out := e.pulumi("up", "--yes", "--skip-preview")
	if got, want := changes(out), map[string]int{"created": 1, "deleted": 1}; !maps.Equal(got, want) {
		t.Errorf("a changed run made %v, want %v\n%s", got, want, out)
	}
	second := e.onlyRun()
	if second == first {
		t.Errorf("the changed run has the name of the old one, %s", first)
	}
	e.awaitState(second, "pending", func(j report.Job) bool { return j.Queue() == "pending" })
	e.noChanges("pending")
	release()
	e.awaitState(second, "running", func(j report.Job) bool { return j.RayJob.Status.JobStatus == rayv1.JobStatusRunning })
	e.noChanges("running")
	e.checkRan(follower, second)
	e.noChanges("finished for the second time")

	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// TestTheScenarioTurnsRed proves that the checks above can fail: a job whose
// CPU is above the quota is refused at preview, and one that got past the
// program would be seen not to run.
func TestTheScenarioTurnsRed(t *testing.T) {
	e := newEnv(t, "e2e-red")
	e.supervise()
	for _, part := range []string{"workers", "worker.cpu"} {
		_, err := e.try("config", "get", "--path", smokeKey+part)
		t.Log(part, err)
	}
	e.pulumi("config", "set", "--path", smokeKey+"workers", "1000")
	out, err := e.try("preview")
	if err == nil {
		t.Fatal("a job that no queue can ever admit passed the preview")
	}
	if !strings.Contains(out, "workloads.jobs.smoke") {
		t.Errorf("the refusal does not name the key:\n%s", out)
	}
	e.pulumi("config", "set", "--path", smokeKey+"workers", "2")
	e.pulumi("up", "--yes", "--skip-preview")
	copied := e.raiseCPU(e.onlyRun())
	e.eventually(30*time.Second, func() error {
		job, err := e.job(copied)
		if err != nil || job.Workload == nil {
			return errNotYet
		}
		return nil
	})
	if err := e.ran(e.follow(os.Stderr), copied, 10*time.Second); err == nil {
		t.Error("a job above the quota was taken for one that ran")
	} else {
		t.Log("red, as it must be:", err)
	}
}

// checkRan fails unless the jobs ran through the queue on the right nodes.
func (e *env) checkRan(f *report.Follower, run string) {
	e.Helper()
	if err := e.ran(f, run, 2*time.Minute); err != nil {
		e.Error(err)
	}
}

// ran waits for the run, or for all if it is "", and says what is wrong with
// how it went: not admitted, on another flavor or pool than the CPU's, failed.
func (e *env) ran(f *report.Follower, run string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(e.Context(), within)
	defer cancel()
	seen, err := f.Wait(ctx)
	if err != nil {
		for _, s := range seen {
			err = fmt.Errorf("%w; %s is %s", err, s.Job.RayJob.Name, s.Job.Queue())
		}
		return err
	}
	for _, s := range seen {
		if run != "" && s.Job.RayJob.Name != run {
			continue
		}
		if !s.Admitted || !s.Job.Succeeded() {
			return fmt.Errorf("%s: admitted %v, queue %s, Ray job %s", s.Job.RayJob.Name, s.Admitted, s.Job.Queue(), s.Job.RayJob.Status.JobStatus)
		}
		for _, set := range []string{"head", "submitter"} {
			if s.Flavors[set] != "cpu" {
				return fmt.Errorf("%s: pod set %s has flavor %q of %v, want cpu", s.Job.RayJob.Name, set, s.Flavors[set], s.Flavors)
			}
		}
		for _, kind := range []string{"head", "worker", "submitter"} {
			if !slices.Equal(s.Placements[kind], []string{"cpu"}) {
				return fmt.Errorf("%s: %s pods ran on pools %v, want cpu", s.Job.RayJob.Name, kind, s.Placements[kind])
			}
		}
	}
	return nil
}

// onlyRun answers the name of the one RayJob that there is.
func (e *env) onlyRun() string {
	e.Helper()
	jobs, err := e.reader().Jobs(e.Context())
	must(e.T, err)
	if len(jobs) != 1 {
		e.Fatalf("%d RayJobs, want one", len(jobs))
	}
	return jobs[0].RayJob.Name
}

func (e *env) job(name string) (report.Job, error) {
	jobs, err := e.reader().Jobs(e.Context())
	if err != nil {
		return report.Job{}, err
	}
	for _, j := range jobs {
		if j.RayJob.Name == name {
			return j, nil
		}
	}
	return report.Job{}, errNotYet
}

func (e *env) awaitState(run, what string, ok func(report.Job) bool) {
	e.Helper()
	e.eventually(time.Minute, func() error {
		j, err := e.job(run)
		if err != nil {
			return err
		}
		if !ok(j) {
			return fmt.Errorf("%s is not %s but %s, Ray job %s", run, what, j.Queue(), j.RayJob.Status.JobStatus)
		}
		return nil
	})
}

// fillQueue takes the whole CPU quota with a Workload of no job, so that the
// next one has to wait, and answers how to give it back.
func (e *env) fillQueue() (release func()) {
	e.Helper()
	reader := e.reader()
	queues, err := reader.Kueue.KueueV1beta2().LocalQueues("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	if len(queues.Items) != 1 {
		e.Fatalf("%d LocalQueues, want one", len(queues.Items))
	}
	queue := queues.Items[0]
	clusterQueue, err := reader.Kueue.KueueV1beta2().ClusterQueues().Get(e.Context(), string(queue.Spec.ClusterQueue), metav1.GetOptions{})
	must(e.T, err)
	quota := corev1.ResourceList{}
	for _, r := range clusterQueue.Spec.ResourceGroups[0].Flavors[0].Resources {
		if r.Name == corev1.ResourceCPU {
			quota[r.Name] = r.NominalQuota
		}
	}
	filler := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: "filler", Namespace: queue.Namespace},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(queue.Name),
			PodSets: []kueue.PodSet{{
				Name: "main", Count: 1,
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "filler", Image: "none", Resources: corev1.ResourceRequirements{Requests: quota}}},
				}},
			}},
		},
	}
	workloads := reader.Kueue.KueueV1beta2().Workloads(queue.Namespace)
	_, err = workloads.Create(e.Context(), filler, metav1.CreateOptions{})
	must(e.T, err)
	e.eventually(30*time.Second, func() error {
		w, err := workloads.Get(e.Context(), filler.Name, metav1.GetOptions{})
		if err != nil || w.Status.Admission == nil {
			return fmt.Errorf("the filler has no quota: %w", errNotYet)
		}
		return nil
	})
	return func() {
		e.Helper()
		must(e.T, workloads.Delete(e.Context(), filler.Name, metav1.DeleteOptions{}))
	}
}

// raiseCPU copies a RayJob past the program, with more CPU than any quota.
func (e *env) raiseCPU(run string) string {
	e.Helper()
	original, err := e.job(run)
	must(e.T, err)
	copied := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: "above-quota", Namespace: original.RayJob.Namespace, Labels: original.RayJob.Labels,
		},
		Spec: *original.RayJob.Spec.DeepCopy(),
	}
	copied.Spec.Suspend = true
	// A name of its own, or the copy would take the original's Ray job for its own.
	copied.Spec.JobId = ""
	many := int32(1000)
	group := &copied.Spec.RayClusterSpec.WorkerGroupSpecs[0]
	group.Replicas, group.MinReplicas, group.MaxReplicas = &many, &many, &many
	_, err = e.reader().Ray.RayV1().RayJobs(copied.Namespace).Create(e.Context(), copied, metav1.CreateOptions{})
	must(e.T, err)
	return copied.Name
}

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
	if left := cmdlines(string(e.dir)); len(left) != 1 || !strings.Contains(left[0], "supervise") {
		e.Errorf("processes after destroy, beside the supervisor: %s", strings.Join(left, "\n"))
	}
	if process.Alive(string(e.dir), "supervisor") == 0 {
		e.Error("the supervisor ended with the cluster")
	}
}

// cmdlines answers the command lines of all processes that name the folder.
func cmdlines(dir string) []string {
	var found []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []string{err.Error()}
	}
	for _, entry := range entries {
		data, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if line := strings.ReplaceAll(string(data), "\x00", " "); err == nil && strings.Contains(line, dir) {
			found = append(found, line)
		}
	}
	return found
}
