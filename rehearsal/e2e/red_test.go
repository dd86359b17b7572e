package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// tooMuch is more CPU than any quota of the stack holds.
const tooMuch = "1000"

// TestTheScenarioTurnsRed proves that the checks of the scenario can fail. A
// job whose CPU is above the quota is refused at preview; one that got past the
// program is seen not to run, while its neighbour passes the same checks.
func TestTheScenarioTurnsRed(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-red")
	e.supervise()
	follower := e.follow(os.Stderr)

	e.only("smoke")
	e.set(smokeKey+"worker.cpus", tooMuch)
	out, err := e.try("preview")
	if err == nil {
		t.Fatal("a job that no queue can ever admit passed the preview")
	}
	if !strings.Contains(out, "workloads.smoke: the worker can never run") {
		t.Errorf("the refusal does not name the key and the rule:\n%s", out)
	}
	e.unset(smokeKey + "worker")

	e.pulumi("up", "--yes", "--skip-preview")
	run := e.onlyRun()
	copied := e.raiseCPU(run)
	e.checkRan(follower, run)
	e.eventually(30*time.Second, func() error {
		j, err := e.job(copied)
		if err != nil || j.Workload == nil {
			return fmt.Errorf("Kueue has not seen %s: %w", copied, errNotYet)
		}
		if !meta.IsStatusConditionFalse(j.Workload.Status.Conditions, kueue.WorkloadQuotaReserved) {
			return fmt.Errorf("Kueue has not refused quota to %s: %w", copied, errNotYet)
		}
		return nil
	})
	err = e.ran(follower, copied, 5*time.Second)
	if err == nil || !strings.Contains(err.Error(), copied+" (pending)") {
		t.Errorf("a job above the quota gave %v, want that it is pending", err)
	}
}

// raiseCPU copies a RayJob past the program, with more CPU than the quota.
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
	worker := &copied.Spec.RayClusterSpec.WorkerGroupSpecs[0].Template.Spec.Containers[0]
	worker.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(tooMuch)
	worker.Resources.Limits[corev1.ResourceCPU] = resource.MustParse(tooMuch)
	_, err = e.reader().Ray.RayV1().RayJobs(copied.Namespace).Create(e.Context(), copied, metav1.CreateOptions{})
	must(e.T, err)
	return copied.Name
}
