package nodes

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/internal/aks"
)

func requireNode(terms ...corev1.NodeSelectorRequirement) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: terms}},
	}}}
}

// gpuWorker waits for one GPU and an eighth of a node of eight.
func gpuWorker(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ray"},
		Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Key: aks.ResourceGPU.String(), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			Containers: []corev1.Container{{Name: "ray-worker", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("11"), corev1.ResourceMemory: resource.MustParse("110Gi"), aks.ResourceGPU: resource.MustParse("1"),
			}}}},
		},
		Status: waiting(name).Status,
	}
}

func gpuWorkers(n int) (pods []*corev1.Pod) {
	for i := range n {
		pods = append(pods, gpuWorker(fmt.Sprintf("worker-%02d", i)))
	}
	return pods
}

// onPool makes the pod select a pool, as Kueue does it for an admitted job.
func onPool(pool string, pod *corev1.Pod) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{aks.LabelPool: pool}
	return pod
}

// cpuPod waits for some cores of a node without taints.
func cpuPod(name, cores string) *corev1.Pod {
	pod := gpuWorker(name)
	pod.Spec.Tolerations = nil
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}
	return pod
}

// bound puts the pod onto a node of the pool.
func bound(t *testing.T, p Pool, index int, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	node, err := p.Node(index)
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.NodeName, pod.Status = node.Name, corev1.PodStatus{Phase: corev1.PodRunning}
	return pod
}

func TestGrowth(t *testing.T) {
	gpuTaint := []string{aks.TaintString(aks.TaintGPU())}
	system := Pool{Name: "system", Mode: "System", Size: "Standard_D4ds_v6", Count: 1, Taints: []string{"CriticalAddonsOnly=true:NoSchedule"}}
	cpu := Pool{ID: "cpu", Name: "cpu", Size: "Standard_D8ds_v6", Autoscaled: true, Max: 4}
	eight := Pool{ID: "eight", Name: "eight", Size: "Standard_ND96amsr_A100_v4", Autoscaled: true, Max: 2, Taints: gpuTaint}
	one := Pool{ID: "one", Name: "one", Size: "Standard_NC24ads_A100_v4", Autoscaled: true, Max: 2, Taints: gpuTaint}
	with := func(p Pool, change func(*Pool)) Pool { change(&p); return p }
	for name, test := range map[string]struct {
		pools []Pool
		pods  []*corev1.Pod
		want  map[string]int
	}{
		"four workers, one node":      {[]Pool{system, cpu, eight}, gpuWorkers(4), map[string]int{"eight": 1}},
		"eight workers, one node":     {[]Pool{system, cpu, eight}, gpuWorkers(8), map[string]int{"eight": 1}},
		"nine workers, two nodes":     {[]Pool{system, cpu, eight}, gpuWorkers(9), map[string]int{"eight": 2}},
		"more than the maximum":       {[]Pool{eight}, gpuWorkers(40), map[string]int{"eight": 2}},
		"one pool a pod, the least":   {[]Pool{cpu, eight, one}, gpuWorkers(1), map[string]int{"one": 1}},
		"the next pool when full":     {[]Pool{one, eight}, gpuWorkers(3), map[string]int{"one": 2, "eight": 1}},
		"the selected pool":           {[]Pool{one, eight}, []*corev1.Pod{onPool("eight", gpuWorker("a"))}, map[string]int{"eight": 1}},
		"a selected pool that lacks":  {[]Pool{one, eight}, []*corev1.Pod{onPool("cpu", gpuWorker("a"))}, nil},
		"a cpu pod":                   {[]Pool{eight, cpu, one}, []*corev1.Pod{cpuPod("head", "2")}, map[string]int{"cpu": 1}},
		"a cpu pod too large for cpu": {[]Pool{cpu, eight}, []*corev1.Pod{cpuPod("head", "16")}, nil},
		"a job's head, submitter and workers": {[]Pool{cpu, eight}, append(gpuWorkers(4), cpuPod("head", "2"), cpuPod("submitter", "500m")),
			map[string]int{"cpu": 1, "eight": 1}},
		"a node on its way": {[]Pool{with(eight, func(p *Pool) { p.Count = 1 })}, gpuWorkers(4), nil},
		"a node in part taken": {[]Pool{with(cpu, func(p *Pool) { p.Count = 1 })},
			[]*corev1.Pod{bound(t, cpu, 0, cpuPod("a", "6")), cpuPod("b", "1"), cpuPod("c", "1")}, map[string]int{"cpu": 1}},
		"a node whose pods ended": {[]Pool{with(cpu, func(p *Pool) { p.Count = 1 })}, func() []*corev1.Pod {
			ended := bound(t, cpu, 0, cpuPod("a", "6"))
			ended.Status.Phase = corev1.PodSucceeded
			return []*corev1.Pod{ended, cpuPod("b", "6")}
		}(), nil},
		"no more pods than a node takes": {[]Pool{cpu}, func() (pods []*corev1.Pod) {
			for i := range 51 {
				pods = append(pods, cpuPod(fmt.Sprintf("small-%02d", i), "1m"))
			}
			return pods
		}(), map[string]int{"cpu": 2}},
		"affinity": {[]Pool{one, eight}, func() []*corev1.Pod {
			pod := gpuWorker("a")
			pod.Spec.Affinity = requireNode(corev1.NodeSelectorRequirement{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"Standard_NC24ads_A100_v4"}})
			return []*corev1.Pod{pod}
		}(), map[string]int{"eight": 1}},
		"not autoscaled":      {[]Pool{with(eight, func(p *Pool) { p.Autoscaled = false })}, gpuWorkers(1), nil},
		"inline in a cluster": {[]Pool{with(cpu, func(p *Pool) { p.ID = "" })}, []*corev1.Pod{cpuPod("a", "1")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := growth(test.pools, test.pods, nil)
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
		})
	}
}

// TestACordonedNodeHasNoRoom: what it would hold gets another node.
func TestACordonedNodeHasNoRoom(t *testing.T) {
	pool := Pool{ID: "id", Name: "cpu", Mode: "User", Size: "Standard_D8ds_v6", Count: 1, Max: 2, Autoscaled: true}
	node, err := pool.Node(0)
	if err != nil {
		t.Fatal(err)
	}
	for cordoned, want := range map[bool]int{false: 0, true: 1} {
		more, err := growth([]Pool{pool}, []*corev1.Pod{cpuPod("a", "1")}, map[string]bool{node.Name: cordoned})
		if err != nil || more["cpu"] != want {
			t.Errorf("cordoned %v: %d more nodes, want %d; %v", cordoned, more["cpu"], want, err)
		}
	}
}
