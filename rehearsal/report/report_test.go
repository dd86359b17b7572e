package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayfake "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned/fake"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	kueuefake "sigs.k8s.io/kueue/client-go/clientset/versioned/fake"

	"ray-on-aks/internal/aks"
)

// job answers a queued job whose Workload has these conditions; "-x" is the
// condition x that is false.
func job(suspended bool, deployment rayv1.JobDeploymentStatus, conditions ...string) Job {
	j := Job{Workload: &kueue.Workload{}}
	j.RayJob.Name, j.RayJob.Namespace = "run", "team"
	j.RayJob.Labels = map[string]string{aks.LabelQueue: "queue"}
	j.RayJob.Spec.Suspend = suspended
	j.RayJob.Status.JobDeploymentStatus = deployment
	for _, c := range conditions {
		kind, isFalse := strings.CutPrefix(c, "-")
		status := metav1.ConditionTrue
		if isFalse {
			status = metav1.ConditionFalse
		}
		j.Workload.Status.Conditions = append(j.Workload.Status.Conditions, metav1.Condition{Type: kind, Status: status, Message: kind + " message"})
	}
	return j
}

// started is the job with the start time that KubeRay gives to every job, even
// to one that is suspended from the beginning.
func started(j Job) Job {
	j.RayJob.Status.StartTime = &metav1.Time{Time: time.Unix(1, 0)}
	return j
}

func TestOrphanedIsAJobThatKueueFinishedThoughItNeverRan(t *testing.T) {
	for name, c := range map[string]struct {
		job  Job
		want bool
	}{
		"finished, unknown to KubeRay":         {job(true, rayv1.JobDeploymentStatusNew, kueue.WorkloadFinished), true},
		"finished, suspended":                  {started(job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished)), true},
		"finished, on the way to suspended":    {started(job(true, rayv1.JobDeploymentStatusInitializing, kueue.WorkloadFinished)), true},
		"finished, refused by KubeRay":         {job(true, rayv1.JobDeploymentStatusValidationFailed, kueue.WorkloadFinished), true},
		"finished and complete":                {started(job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadFinished)), false},
		"finished and failed":                  {started(job(false, rayv1.JobDeploymentStatusFailed, kueue.WorkloadFinished)), false},
		"finished, seen running a moment ago":  {started(job(false, rayv1.JobDeploymentStatusRunning, kueue.WorkloadFinished)), false},
		"finished, complete, suspended later":  {started(job(true, rayv1.JobDeploymentStatusComplete, kueue.WorkloadFinished)), false},
		"pending":                              {started(job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadQuotaReserved)), false},
		"pending, explicitly not finished":     {job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadFinished), false},
		"admitted, not yet resumed":            {started(job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadAdmitted)), false},
		"running":                              {started(job(false, rayv1.JobDeploymentStatusRunning, kueue.WorkloadAdmitted)), false},
		"suspended, without a Workload so far": {Job{RayJob: job(true, rayv1.JobDeploymentStatusSuspended).RayJob}, false},
	} {
		if got := c.job.Orphaned(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if c.want && !c.job.Ended() {
			t.Errorf("%s: one would wait for it for ever", name)
		}
	}
}

func TestAJobHasEndedOnceItsQuotaIsBack(t *testing.T) {
	complete := func(conditions ...string) Job { return job(false, rayv1.JobDeploymentStatusComplete, conditions...) }
	for name, c := range map[string]struct {
		job  Job
		want bool
	}{
		"complete, quota held":              {complete(kueue.WorkloadAdmitted), false},
		"complete, quota back":              {complete(kueue.WorkloadAdmitted, kueue.WorkloadFinished), true},
		"complete, retention is over":       {Job{RayJob: complete().RayJob}, true},
		"refused by KubeRay":                {job(false, rayv1.JobDeploymentStatusValidationFailed, kueue.WorkloadAdmitted), true},
		"running":                           {job(false, rayv1.JobDeploymentStatusRunning, kueue.WorkloadAdmitted), false},
		"suspended, without a Workload yet": {Job{RayJob: job(true, rayv1.JobDeploymentStatusSuspended).RayJob}, false},
	} {
		if got := c.job.Ended(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestQueueNamesTheStateOfAJob(t *testing.T) {
	unqueued := job(false, rayv1.JobDeploymentStatusRunning)
	unqueued.RayJob.Labels = nil
	unseen := job(true, rayv1.JobDeploymentStatusNew)
	unseen.Workload = nil
	forgotten := job(false, rayv1.JobDeploymentStatusFailed)
	forgotten.Workload = nil
	if got := forgotten.Queue(); got != "finished" {
		t.Errorf("after the retention: got %q, want finished", got)
	}
	for want, j := range map[string]Job{
		"no queue": unqueued,
		"unseen":   unseen,
		"pending":  job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadQuotaReserved),
		"admitted": job(false, rayv1.JobDeploymentStatusRunning, kueue.WorkloadQuotaReserved, kueue.WorkloadAdmitted, "-"+kueue.WorkloadEvicted),
		"evicted":  job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadAdmitted, kueue.WorkloadEvicted),
		"finished": job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadAdmitted, kueue.WorkloadFinished),

		"FINISHED BUT NEVER RAN": job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished),
	} {
		if got := j.Queue(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSucceededNeedsAnEndThatWasRun(t *testing.T) {
	for name, c := range map[string]struct {
		job    Job
		status rayv1.JobStatus
		want   bool
	}{
		"complete":                        {job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadFinished), rayv1.JobStatusSucceeded, true},
		"complete, not yet seen by Kueue": {job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadAdmitted), rayv1.JobStatusSucceeded, true},
		"failed":                          {job(false, rayv1.JobDeploymentStatusFailed, kueue.WorkloadFinished), rayv1.JobStatusFailed, false},
		"complete but failed":             {job(false, rayv1.JobDeploymentStatusComplete, kueue.WorkloadFinished), rayv1.JobStatusFailed, false},
		"not complete yet":                {job(false, rayv1.JobDeploymentStatusRunning, kueue.WorkloadAdmitted), rayv1.JobStatusSucceeded, false},
		"orphaned":                        {job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished), rayv1.JobStatusNew, false},
		"orphaned, of old success":        {job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished), rayv1.JobStatusSucceeded, false},
	} {
		c.job.RayJob.Status.JobStatus = c.status
		if got := c.job.Succeeded(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestFlavorsAreNamedOncePerPodSet(t *testing.T) {
	j := job(false, rayv1.JobDeploymentStatusRunning)
	if got := j.Flavors(); len(got) != 0 {
		t.Errorf("before admission: %v", got)
	}
	j.Workload.Status.Admission = &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{
		{Name: "head", Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"cpu": "cpu", "memory": "cpu"}},
		{Name: "workers", Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"nvidia.com/gpu": "gpu", "cpu": "cpu"}},
	}}
	if got := j.Flavors(); len(got) != 2 || got["head"] != "cpu" || got["workers"] != "cpu+gpu" {
		t.Errorf("got %v", got)
	}
}

func TestJobsAreReadWithTheirWorkloadAndPods(t *testing.T) {
	meta := func(name, owner string, labels map[string]string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Name: name, Namespace: "team", UID: types.UID("uid-" + name), Labels: labels}
		if owner != "" {
			m.OwnerReferences = []metav1.OwnerReference{{UID: types.UID("uid-" + owner)}}
		}
		return m
	}
	pod := func(name, key, value string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: meta(name, "", map[string]string{key: value})}
	}
	far := pod("far", batchv1.JobNameLabel, "a")
	far.Namespace = "other"
	r := &Reader{
		Kubernetes: fake.NewSimpleClientset(
			pod("a-head", "ray.io/cluster", "cluster-a"), pod("a-submitter", batchv1.JobNameLabel, "a"), far,
			pod("b-head", "ray.io/cluster", "cluster-b"), pod("lonely", "app", "x"),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{aks.LabelPool: "cpu"}}},
		),
		Ray: rayfake.NewSimpleClientset(
			&rayv1.RayJob{ObjectMeta: meta("b", "", nil)},
			&rayv1.RayJob{ObjectMeta: meta("a", "", nil), Status: rayv1.RayJobStatus{RayClusterName: "cluster-a"}},
		),
		Kueue: kueuefake.NewSimpleClientset(&kueue.Workload{ObjectMeta: meta("w", "a", nil)}),
	}
	jobs, err := r.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 || jobs[0].RayJob.Name != "a" || jobs[1].RayJob.Name != "b" {
		t.Fatalf("jobs %+v, want a and b", jobs)
	}
	var names []string
	for _, p := range jobs[0].Pods {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a-head", "a-submitter"}) || jobs[0].Workload == nil || jobs[0].Workload.Name != "w" {
		t.Errorf("job a has pods %v and Workload %v", names, jobs[0].Workload)
	}
	if pool := jobs[0].Pools["node"]; pool != "cpu" {
		t.Errorf("the node is of pool %q", pool)
	}
	// A job without a cluster so far must not take the pods of those that have one.
	if len(jobs[1].Pods) != 0 || jobs[1].Workload != nil {
		t.Errorf("job b has pods %v and Workload %v", jobs[1].Pods, jobs[1].Workload)
	}
}

func TestTheTableShowsTheFlawAndWhyAJobWaits(t *testing.T) {
	waiting := job(true, rayv1.JobDeploymentStatusSuspended, "-"+kueue.WorkloadQuotaReserved)
	waiting.RayJob.Name = "waiting"
	var out strings.Builder
	if err := Print(&out, []Job{job(true, rayv1.JobDeploymentStatusSuspended, kueue.WorkloadFinished), waiting}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"team/run", "FINISHED BUT NEVER RAN", "team/waiting", kueue.WorkloadQuotaReserved + " message"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
