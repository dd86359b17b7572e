package nodes

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/cloud"
)

// world is a controller that runs on a fake API and a clock of its own.
type world struct {
	t      *testing.T
	client *fake.Clientset
	store  *cloud.Store
}

// inWorld runs the test with a controller of the cloud's cluster main.
func inWorld(t *testing.T, r cloud.Resources, objects []runtime.Object, test func(world), logs ...slog.Handler) {
	t.Helper()
	log := slog.DiscardHandler
	if len(logs) > 0 {
		log = logs[0]
	}
	path := filepath.Join(t.TempDir(), "cloud.json")
	synctest.Test(t, func(t *testing.T) {
		w := world{t: t, client: fake.NewSimpleClientset(objects...), store: cloud.Open(path)}
		w.change(func(all cloud.Resources) {
			for id, record := range r {
				all[id] = record
			}
		})
		c := &Controller{Cluster: "main", Version: "v1.35.3", Store: w.store, Client: w.client, Log: slog.New(log)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		test(w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (w world) change(f func(cloud.Resources)) {
	w.t.Helper()
	if err := w.store.Update(func(r cloud.Resources) error { f(r); return nil }); err != nil {
		w.t.Fatal(err)
	}
}

// count is the pool's in the cloud, as the program's next refresh sees it.
func (w world) count() int {
	w.t.Helper()
	n := -1
	err := w.store.View(func(r cloud.Resources) error {
		n = number(r[poolID].Outputs, "count")
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w world) nodes() map[string]corev1.Node {
	w.t.Helper()
	list, err := w.client.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	nodes := map[string]corev1.Node{}
	for _, n := range list.Items {
		nodes[n.Name] = n
	}
	return nodes
}

// bind puts a running pod on the node of the pool cpu.
func (w world) bind(name string, index int) {
	w.t.Helper()
	node, err := w.pool().Node(index)
	if err != nil {
		w.t.Fatal(err)
	}
	pod := waiting(name)
	pod.Spec.NodeName, pod.Status = node.Name, corev1.PodStatus{Phase: corev1.PodRunning}
	if _, err := w.client.CoreV1().Pods("default").Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) finish(name string) {
	w.t.Helper()
	pods := w.client.CoreV1().Pods("default")
	pod, err := pods.Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodSucceeded
	if _, err := pods.UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) pool() (p Pool) {
	w.t.Helper()
	if err := w.store.View(func(r cloud.Resources) error { p = byName(w.t, r)["cpu"]; return nil }); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// waiting answers a pod that the scheduler found no node for and that a node of
// the pool cpu could take.
func waiting(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"team": "vision"},
			Tolerations:  []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "vision"}},
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

func TestNodesComeAndGoWithTheCountsOfTheirPools(t *testing.T) {
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "somebody-elses"}}
	fixed := func(_, apart map[string]any) { apart["enableAutoScaling"] = false }
	inWorld(t, resources(fixed), []runtime.Object{foreign}, func(w world) {
		time.Sleep(2 * time.Second)
		pools := map[string]int{}
		for _, n := range w.nodes() {
			pools[n.Labels[aks.LabelPool]]++
			if n.Name != foreign.Name && (n.Status.NodeInfo.KubeletVersion != "v1.35.3" || n.Status.Allocatable.Cpu().IsZero()) {
				t.Errorf("node %s has status %+v", n.Name, n.Status)
			}
		}
		if want := map[string]int{"system": 1, "cpu": 2, "": 1}; fmt.Sprint(pools) != fmt.Sprint(want) {
			t.Errorf("nodes by pool: %v, want %v", pools, want)
		}
		w.change(func(r cloud.Resources) { r[poolID].Outputs["count"] = 1.0 })
		time.Sleep(2 * time.Second)
		first, err := w.pool().Node(0)
		if err != nil {
			t.Fatal(err)
		}
		nodes := w.nodes()
		if _, ok := nodes[first.Name]; !ok || len(nodes) != 3 {
			t.Errorf("after a pool of 2 became one of 1 there are %d nodes, the first one: %v", len(nodes), ok)
		}
		if _, ok := nodes[foreign.Name]; !ok {
			t.Error("a node that is no pool's was removed")
		}
		w.change(func(r cloud.Resources) { delete(r, poolID) })
		time.Sleep(2 * time.Second)
		if n := len(w.nodes()); n != 2 {
			t.Errorf("after the pool was deleted there are %d nodes, want 2", n)
		}
	})
}

func TestAPoolOfAnUnknownSizeHoldsUpNoOther(t *testing.T) {
	declared := func(inline, _ map[string]any) { inline["vmSize"] = "Standard_Declared_v9" }
	var log bytes.Buffer
	inWorld(t, resources(declared), nil, func(w world) {
		time.Sleep(time.Minute)
		if n := len(w.nodes()); n != 2 {
			t.Errorf("%d nodes, want the two of the other pool", n)
		}
	}, slog.NewTextHandler(&log, nil))
	if n := strings.Count(log.String(), "Standard_Declared_v9"); n != 1 {
		t.Errorf("the size is named %d times, want once: %s", n, &log)
	}
}
