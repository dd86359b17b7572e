package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"
)

const (
	// trials is how many workloads are generated around the edge of the quota.
	trials = 50
	// seed makes the same ones in every run.
	seed = 3
)

// TestEstimateAgreesWithKueue generates workloads around the edge of what a
// queue can ever get, asks the program whether each can ever be admitted, and
// then asks Kueue itself.
func TestEstimateAgreesWithKueue(t *testing.T) {
	t.Parallel()
	e := newEnv(t, "e2e-estimate")
	e.supervise()
	e.follow(os.Stderr)
	e.only()
	// Limits of both kinds, so that a team's most is not simply everything.
	e.set(queuesKey+"teams.language.lendingLimit", map[string]any{"a100": map[string]any{"gpus": 2, "cpu": "20"}})
	e.set(queuesKey+"teams.weather.borrowingLimit", map[string]any{"a100": map[string]any{"memory": "200Gi"}, "cpu": map[string]any{"cpu": "5"}})
	e.pulumi("up", "--yes", "--skip-preview")

	declared := e.rehearsedQueues()
	e.checkNominal(declared)
	random := rand.New(rand.NewPCG(seed, seed))
	counts := map[bool]int{}
	for i := range trials {
		tenant := declared.Tenants()[i%2]
		a, name := generate(random, declared, tenant, i)
		estimate := a.Validate()
		admitted, message := e.ask(a, name)
		counts[admitted]++
		if admitted != (estimate == nil) {
			t.Errorf("%s of %s: Kueue admits it: %v (%s); the program says: %v", name, tenant.Name, admitted, message, estimate)
		}
	}
	t.Logf("%d admitted, %d not", counts[true], counts[false])
	if counts[true] < trials/5 || counts[false] < trials/5 {
		t.Errorf("%v is no edge: nearly all are on one side of it", counts)
	}
}

// rehearsedQueues are the queues of the rehearsal stack with the test's limits.
func (e *env) rehearsedQueues() queues.Args {
	e.Helper()
	node := func(size string) sku.Resources {
		s, err := sku.Lookup(size)
		must(e.T, err)
		return s.Allocatable()
	}
	quantity := func(s string) *resource.Quantity { q := resource.MustParse(s); return &q }
	two := int64(2)
	return queues.Args{
		Shape: queues.ShapeTeams, ClusterQueue: "ray", LocalQueue: "ray-jobs", Cohort: "ray", Namespace: "ray",
		Teams: queues.Teams{
			"language": {Share: 1, LendingLimit: map[string]queues.Quota{"a100": {GPUs: &two, CPU: quantity("20")}}},
			"weather":  {Share: 1, BorrowingLimit: map[string]queues.Quota{"a100": {Memory: quantity("200Gi")}, "cpu": {CPU: quantity("5")}}},
		},
		Pools: []queues.Pool{
			{Name: "a100", Nodes: 1, Node: node("Standard_ND96amsr_A100_v4"), Taints: []corev1.Taint{aks.TaintGPU()}},
			{Name: "cpu", Nodes: 4, Node: node("Standard_D8ds_v6")},
		},
	}
}

// checkNominal holds the test's queues to those that the program made.
func (e *env) checkNominal(a queues.Args) {
	e.Helper()
	for _, tenant := range a.Tenants() {
		live, err := e.reader().Kueue.KueueV1beta2().ClusterQueues().Get(e.Context(), tenant.ClusterQueue, metav1.GetOptions{})
		must(e.T, err)
		for i, flavor := range live.Spec.ResourceGroups[0].Flavors {
			pool := a.Ordered()[i]
			nominal := a.Nominal(tenant, pool)
			got := fmt.Sprint(flavor.Name, " ", flavor.Resources[0].NominalQuota.MilliValue(), flavor.Resources[1].NominalQuota.Value()>>20,
				flavor.Resources[2].NominalQuota.Value())
			want := fmt.Sprint(pool.Name, " ", nominal.MilliCPU, nominal.MemoryMiB, nominal.GPUs)
			if got != want {
				e.Errorf("ClusterQueue %s has %s, the test's %s", tenant.ClusterQueue, got, want)
			}
		}
	}
}

// generate declares a job of which one resource of its head or workers is at,
// just below or just above the most that its tenant can ever get. Nodes are as
// large as need be: their size is no matter of Kueue's.
func generate(r *rand.Rand, q queues.Args, tenant queues.Tenant, i int) (workloads.Args, string) {
	huge := sku.Resources{MilliCPU: 1 << 40, MemoryMiB: 1 << 40, GPUs: 1 << 20}
	a := workloads.Args{Platform: workloads.Platform{
		CPUPool: "cpu", ServiceAccount: "ray-workload", Priorities: []string{"normal"},
		Versions: workloads.Versions{Ray: "2.55.1", Image: "registry/ray:2.55.1"},
	}}
	own := workloads.Tenant{Name: tenant.Name, Namespace: tenant.Namespace, Queue: workloads.Queue{Name: tenant.LocalQueue}}
	ever := map[string]sku.Resources{}
	for _, p := range q.Ordered() {
		ever[p.Name] = q.Ever(tenant, p)
		node := huge
		if ever[p.Name].GPUs == 0 {
			node.GPUs = 0
		}
		own.Queue.Flavors = append(own.Queue.Flavors, workloads.Flavor{Name: p.Name, Node: node, Limit: ever[p.Name], Tainted: len(p.Taints) > 0})
		a.Pools = append(a.Pools, workloads.Pool{Name: p.Name, Nodes: 1000, Node: node, Tainted: len(p.Taints) > 0})
	}
	a.Tenants = []workloads.Tenant{own}

	workers := int64(1 + r.IntN(4))
	w := workloads.Defaults()
	w.Enabled, w.Entrypoint, w.Workers, w.Priority, w.Team = true, "python -c 1", int32(workers), "normal", tenant.Name
	w.Head = workloads.Size{CPUs: resource.MustParse("500m"), Memory: resource.MustParse("512Mi")}
	w.Worker.Size = w.Head
	// The submitter, of which every job has one, is on the CPU flavor too.
	nearCPU := *resource.NewMilliQuantity(ever["cpu"].MilliCPU-500+edge(r), resource.DecimalSI)
	switch i % 5 {
	case 0:
		w.Worker.GPUs = 1
		w.Head.CPUs = nearCPU
	case 1:
		w.Worker.GPUs, w.Workers = 1, int32(ever["a100"].GPUs+edge(r))
	case 2:
		w.Worker.GPUs = 1
		w.Worker.CPUs = *resource.NewMilliQuantity(ever["a100"].MilliCPU/workers+edge(r), resource.DecimalSI)
	case 3:
		w.Worker.GPUs = 1
		w.Worker.Memory = *resource.NewQuantity((ever["a100"].MemoryMiB/workers+edge(r))<<20, resource.BinarySI)
	case 4:
		w.Worker.CPUs = *resource.NewMilliQuantity((ever["cpu"].MilliCPU-1000)/workers+edge(r), resource.DecimalSI)
	}
	name := fmt.Sprintf("edge-%02d", i)
	a.Declared = workloads.Declared{name: w}
	return a, name
}

func edge(r *rand.Rand) int64 { return int64(r.IntN(3) - 1) }

// ask creates the job and answers what Kueue decides, then takes it away.
func (e *env) ask(a workloads.Args, name string) (admitted bool, message string) {
	e.Helper()
	object, err := a.Render(name)
	must(e.T, err)
	job := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Name: object.Meta.Name, Namespace: object.Meta.Namespace, Labels: object.Meta.Labels},
		Spec:       *object.Spec.(*rayv1.RayJobSpec),
	}
	reader := e.reader()
	jobs := reader.Ray.RayV1().RayJobs(job.Namespace)
	_, err = jobs.Create(e.Context(), job, metav1.CreateOptions{})
	must(e.T, err)
	e.eventually(20*time.Second, func() error {
		j, err := e.job(job.Name)
		if err != nil || j.Workload == nil {
			return errors.Join(errNotYet, err)
		}
		c := apimeta.FindStatusCondition(j.Workload.Status.Conditions, kueue.WorkloadQuotaReserved)
		if c == nil {
			return errNotYet
		}
		admitted, message = c.Status == metav1.ConditionTrue, c.Message
		if !admitted && !strings.Contains(message, "couldn't assign flavors") {
			return fmt.Errorf("%s: %s: %w", name, message, errNotYet)
		}
		return nil
	})
	background := metav1.DeletePropagationBackground
	must(e.T, jobs.Delete(e.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: &background}))
	// Until its quota is back, the next one would not find an empty queue.
	e.eventually(30*time.Second, func() error {
		if _, err := jobs.Get(e.Context(), job.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errNotYet, err)
		}
		left, err := reader.Kueue.KueueV1beta2().Workloads(job.Namespace).List(e.Context(), metav1.ListOptions{})
		if err != nil || len(left.Items) > 0 {
			return errors.Join(errNotYet, err)
		}
		return nil
	})
	return admitted, message
}
