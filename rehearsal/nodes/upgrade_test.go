package nodes

import (
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"ray-on-aks/internal/aks"
	"ray-on-aks/rehearsal/cloud"
)

func TestKubeletsAreOfTheirPoolsVersion(t *testing.T) {
	for pool, want := range map[string]string{"": "v1.35.3", "1.35": "v1.35.3", "1.35.9": "v1.35.9", "1.36": "v1.36.0", "1.3": "v1.3.0"} {
		if got := kubelet(pool, "v1.35.3"); got != want {
			t.Errorf("pool of %q: %s, want %s", pool, got, want)
		}
	}
}

// TestNodesAreUpgradedOneAfterTheOther: the second node of a pool stays as it is
// until the first, which a pod leaves late, is there again.
func TestNodesAreUpgradedOneAfterTheOther(t *testing.T) {
	inWorld(t, resources(nil), nil, func(w world) {
		var evicted []string
		w.client.PrependReactor("create", "pods", func(action ktesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() != "eviction" {
				return false, nil, nil
			}
			evicted = append(evicted, action.(ktesting.CreateAction).GetObject().(interface{ GetName() string }).GetName())
			return true, nil, nil
		})
		time.Sleep(2 * time.Second)
		w.bind("works", 0)
		w.change(func(r cloud.Resources) { r[poolID].Outputs["currentOrchestratorVersion"] = "1.35.9" })
		time.Sleep(5 * time.Second)
		versions := func() map[string]bool {
			all := map[string]bool{}
			for name, node := range w.nodes() {
				if node.Labels[aks.LabelPool] == "cpu" {
					all[name] = node.Status.NodeInfo.KubeletVersion == "v1.35.9"
				}
			}
			return all
		}
		first, err := w.pool().Node(0)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(slices.Collect(maps.Values(versions())), true) || len(evicted) == 0 || evicted[0] != "works" {
			t.Errorf("while a pod is on the first node: upgraded %v, evicted %v", versions(), evicted)
		}
		for name, node := range w.nodes() {
			if node.Spec.Unschedulable != (name == first.Name) {
				t.Errorf("node %s is cordoned: %v", name, node.Spec.Unschedulable)
			}
		}
		w.finish("works")
		time.Sleep(10 * time.Second)
		if all := versions(); len(all) != 2 || !all[first.Name] || slices.Contains(slices.Collect(maps.Values(all)), false) {
			t.Errorf("upgraded %v, want both", all)
		}
		for name, node := range w.nodes() {
			if node.Spec.Unschedulable || node.Labels[aks.LabelPool] == "system" && node.Status.NodeInfo.KubeletVersion != "v1.35.3" {
				t.Errorf("node %s: %+v, %s", name, node.Spec, node.Status.NodeInfo.KubeletVersion)
			}
		}
	})
}
