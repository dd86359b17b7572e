package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/raydash"
	"ray-on-aks/rehearsal/report"
)

// fourGPUs is a training run as big as the catalog's, declared in config alone.
func fourGPUs(team string) map[string]any {
	return map[string]any{
		"enabled": true, "team": team, "entrypoint": "python -c 1", "workers": 4,
		"worker": map[string]any{"cpus": "11", "memory": "110Gi", "gpus": 1},
	}
}

// TestPlatform brings up all that the rehearsal stack declares: training runs
// share the GPUs of one node, heads stay on CPU nodes, a service answers beside
// them, and a team that goes leaves nothing behind.
func TestPlatform(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-platform")
	e.supervise()
	follower := e.follow(os.Stderr)
	e.outcome(longRun)
	e.only("aurora-finetune", "llm-training", "online-serving")
	printed := e.pulumi("up", "--yes")

	aurora, training := e.runOf("aurora-finetune"), e.runOf("llm-training")
	for _, run := range []string{aurora, training} {
		e.awaitState(run, "running", running)
		e.checkPlaces(run, "a100")
	}
	e.checkService("online-serving")
	e.checkSecrets(printed)

	e.set(workloadsKey+"further", fourGPUs("language"))
	out := e.pulumi("up", "--yes", "--skip-preview")
	if got, want := changes(out), map[string]int{"created": 1}; !maps.Equal(got, want) {
		t.Errorf("a further job made %v, want %v\n%s", got, want, out)
	}
	further := e.runOf("further")
	e.noChanges(further, "pending", pending)
	if gpus, cpus := e.free("a100", aks.ResourceGPU), e.free("cpu", corev1.ResourceCPU); gpus >= 4 || cpus < 2 {
		t.Errorf("%d GPUs and %d cores are free: it is not for a GPU that %s waits", gpus, cpus, further)
	}
	e.noChanges(training, "running", running)

	e.outcomes(map[string]raydash.Outcome{"": {Seconds: longRun}, "llm-training": {}})
	e.awaitState(training, "finished", ended)
	e.awaitState(further, "running", running)
	e.checkPlaces(further, "a100")

	e.headWaitsForCPU()
	e.checkHeads(follower)
	e.removeWeather()
	e.pulumi("destroy", "--yes", "--skip-preview")
	e.checkGone()
}

// headWaitsForCPU fills the CPU flavor and then declares a run whose GPU is
// free: it has to wait, since its head may not take the CPU of a GPU node.
func (e *env) headWaitsForCPU() {
	e.Helper()
	release := e.fillQueues()
	late := fourGPUs("weather")
	late["workers"] = 1
	e.set(workloadsKey+"late", late)
	e.pulumi("up", "--yes", "--skip-preview")
	run := e.runOf("late")
	e.awaitState(run, "pending", pending)
	time.Sleep(3 * time.Second) // long enough for several of Kueue's cycles
	e.awaitState(run, "pending", pending)
	if gpus, cpus := e.free("a100", aks.ResourceGPU), e.free("cpu", corev1.ResourceCPU); gpus < 1 || cpus > 0 {
		e.Errorf("%d GPUs and %d cores are free: it is not for a head's CPU that %s waits", gpus, cpus, run)
	}
	release()
	e.awaitState(run, "running", running)
	e.checkPlaces(run, "a100")
}

// removeWeather takes a team, its workloads and a pool out of the stack.
func (e *env) removeWeather() {
	e.Helper()
	before := e.objects()
	e.only("llm-training")
	e.unset(workloadsKey + "late")
	for _, name := range []string{"aurora-finetune", "online-serving", "smoke"} {
		e.unset(workloadsKey + name + ".team")
	}
	e.unset(queuesKey + "teams.weather")
	e.unset(poolsKey + "serve")
	e.pulumi("up", "--yes", "--skip-preview")
	e.eventually(time.Minute, func() error { return e.left("weather", "serve") })
	after := e.objects()
	for name, uid := range before {
		if !strings.Contains(name, "weather") && after[name] != uid {
			e.Errorf("%s is gone or was made anew when another team went", name)
		}
	}
	e.unchanged("after a team has gone")
}

// free is how much of a flavor's resource no queue has given away, in whole
// units.
func (e *env) free(flavor kueue.ResourceFlavorReference, name corev1.ResourceName) int64 {
	e.Helper()
	list, err := e.reader().Kueue.KueueV1beta2().ClusterQueues().List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	var free resource.Quantity
	for i := range list.Items {
		free.Add(nominal(&list.Items[i], flavor, name))
		free.Sub(used(&list.Items[i], flavor, name))
	}
	return free.ScaledValue(0) // rounded up
}

// checkPlaces asserts what Kueue assigned and where the pods are.
func (e *env) checkPlaces(run, workers string) {
	e.Helper()
	want := map[string]string{"head": "cpu", "workers": workers, "submitter": "cpu"}
	e.eventually(30*time.Second, func() error {
		j, err := e.job(run)
		if err != nil {
			return err
		}
		if got := j.Flavors(); !maps.Equal(got, want) {
			return fmt.Errorf("%s has the flavors %v, want %v", run, got, want)
		}
		for _, pod := range j.Pods {
			set := map[string]string{"worker": "workers"}[report.PodKind(pod)]
			if set == "" {
				set = report.PodKind(pod)
			}
			if pool := j.Pools[pod.Spec.NodeName]; pool != want[set] {
				return fmt.Errorf("%s: pod %s is on pool %q, want %s", run, pod.Name, pool, want[set])
			}
		}
		if n := len(j.Pods); n != int(*j.RayJob.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas)+2 {
			return fmt.Errorf("%s has %d pods: %w", run, n, errNotYet)
		}
		return nil
	})
}

// checkHeads asserts that heads and submitters were seen, and never on a GPU
// node. On a busy machine the follower is a little behind the test.
func (e *env) checkHeads(f *report.Follower) {
	e.Helper()
	e.eventually(30*time.Second, func() error {
		seen := f.Seen()
		if len(seen) < 4 {
			return fmt.Errorf("only %d jobs were seen: %w", len(seen), errNotYet)
		}
		for _, s := range seen {
			for _, kind := range []string{"head", "submitter"} {
				if pools := s.Placements[kind]; !slices.Equal(pools, []string{"cpu"}) {
					return fmt.Errorf("%s: %s pods ran on pools %v", s.Job.RayJob.Name, kind, pools)
				}
			}
		}
		return nil
	})
}

// checkService waits until the service answers, from its own pool.
func (e *env) checkService(name string) {
	e.Helper()
	e.served(name, time.Minute)
	reader := e.reader()
	pods, err := reader.Kubernetes.CoreV1().Pods("").List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	places := map[string]string{}
	for _, pod := range pods.Items {
		if !strings.HasPrefix(pod.Labels[rayutils.RayClusterLabelKey], name+"-") {
			continue
		}
		node, err := reader.Kubernetes.CoreV1().Nodes().Get(e.Context(), pod.Spec.NodeName, metav1.GetOptions{})
		must(e.T, err)
		places[report.PodKind(pod)] = node.Labels[aks.LabelPool]
	}
	if want := map[string]string{"head": "cpu", "worker": "serve"}; !maps.Equal(places, want) {
		e.Errorf("the service's pods are on %v, want %v", places, want)
	}
}
