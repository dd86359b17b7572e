package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ray-on-aks/rehearsal/cloud"
)

// scaled is a cloud whose pool cpu is autoscaled.
func scaled(count, least, most float64) cloud.Resources {
	return resources(func(_, apart map[string]any) {
		apart["count"], apart["minCount"], apart["maxCount"] = count, least, most
	})
}

func TestAPoolGrowsAtOnceForAllPodsThatFitAndNeverAboveItsMax(t *testing.T) {
	inWorld(t, scaled(0, 0, 3), []runtime.Object{waiting("a"), waiting("b")}, func(w world) {
		time.Sleep(time.Second)
		if n := w.count(); n != 2 {
			t.Errorf("for two pods that each fill more than half a node there are %d nodes, want 2", n)
		}
		for _, name := range []string{"c", "d", "e"} {
			if _, err := w.client.CoreV1().Pods("default").Create(t.Context(), waiting(name), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			time.Sleep(2 * time.Second)
			if n, nodes := w.count(), len(w.nodes()); n != 3 || nodes > 4 {
				t.Fatalf("%d in the cloud and %d nodes, want the maximum 3 and the system pool's", n, nodes)
			}
		}
	})
}

func TestAPoolDoesNotGrowForAPodThatItsNodesCannotTake(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"too large": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("8")
		},
		"too large together": func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, p.Spec.Containers[0])
		},
		"of a resource that no node has": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
		},
		"does not tolerate": func(p *corev1.Pod) { p.Spec.Tolerations = nil },
		"tolerates another value": func(p *corev1.Pod) {
			p.Spec.Tolerations[0].Value = "language"
		},
		"tolerates another effect": func(p *corev1.Pod) {
			p.Spec.Tolerations[0].Effect = corev1.TaintEffectNoExecute
		},
		"selects other nodes": func(p *corev1.Pod) { p.Spec.NodeSelector["team"] = "language" },
		"has an affinity to others": func(p *corev1.Pod) {
			p.Spec.Affinity = requireNode(corev1.NodeSelectorRequirement{Key: "accelerator", Operator: corev1.NodeSelectorOpExists})
		},
		"has an init container that is too large": func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{*p.Spec.Containers[0].DeepCopy()}
			p.Spec.InitContainers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("8")
		},
		"not tried yet": func(p *corev1.Pod) { p.Status.Conditions = nil },
		"being deleted": func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
		"bound already": func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			pod := waiting("a")
			change(pod)
			inWorld(t, scaled(0, 0, 2), []runtime.Object{pod}, func(w world) {
				time.Sleep(time.Minute)
				if n := w.count(); n != 0 {
					t.Errorf("the pool grew to %d", n)
				}
			})
		})
	}
}

func TestAPoolGrowsForAPodThatToleratesEverything(t *testing.T) {
	pod := waiting("a")
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	inWorld(t, scaled(0, 0, 2), []runtime.Object{pod}, func(w world) {
		time.Sleep(time.Second)
		if n := w.count(); n != 1 {
			t.Errorf("%d nodes, want 1", n)
		}
	})
}

func TestAPoolBelowItsMinIsRaisedAndOneThatIsNotAutoscaledIsLeft(t *testing.T) {
	inWorld(t, scaled(0, 2, 4), nil, func(w world) {
		time.Sleep(time.Second)
		if n := w.count(); n != 2 {
			t.Errorf("%d nodes, want the minimum 2", n)
		}
		w.change(func(r cloud.Resources) {
			r[poolID].Outputs["enableAutoScaling"], r[poolID].Outputs["count"] = false, 1.0
		})
		time.Sleep(time.Minute)
		if n := w.count(); n != 1 {
			t.Errorf("a pool of 1 that is not autoscaled has %d", n)
		}
	})
}

func TestIdleNodesGoOneByOneDownToTheMin(t *testing.T) {
	inWorld(t, scaled(3, 1, 4), nil, func(w world) {
		time.Sleep(scaleDownAfter - time.Second)
		if n := w.count(); n != 3 {
			t.Errorf("%d nodes before the time, want 3", n)
		}
		time.Sleep(2 * time.Second)
		if n := w.count(); n != 2 {
			t.Errorf("%d nodes after a minute, want 2", n)
		}
		time.Sleep(10 * scaleDownAfter)
		if n, nodes := w.count(), len(w.nodes()); n != 1 || nodes != 2 {
			t.Errorf("%d in the cloud and %d nodes in the end, want the minimum 1 and the system pool's", n, nodes)
		}
	})
}

func TestABusyNodeStaysUntilItsPodsHaveEnded(t *testing.T) {
	inWorld(t, scaled(2, 1, 4), nil, func(w world) {
		w.bind("a", 1)
		time.Sleep(10 * scaleDownAfter)
		if n := w.count(); n != 2 {
			t.Fatalf("%d nodes while the last one is busy, want 2", n)
		}
		w.finish("a")
		time.Sleep(scaleDownAfter + 2*time.Second)
		if n := w.count(); n != 1 {
			t.Errorf("%d nodes a minute after the pod ended, want 1", n)
		}
	})
}

// A node that was idle, worked while it was not the last one, and is the last
// one again has not been idle all that time.
func TestIdlenessIsCountedAnewAfterWork(t *testing.T) {
	inWorld(t, scaled(1, 0, 2), nil, func(w world) {
		time.Sleep(scaleDownAfter / 2) // the first node is idle
		if _, err := w.client.CoreV1().Pods("default").Create(t.Context(), waiting("big"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.bind("a", 0)
		time.Sleep(time.Second) // the second node comes
		if n := w.count(); n != 2 {
			t.Fatalf("%d nodes, want 2", n)
		}
		if err := w.client.CoreV1().Pods("default").Delete(t.Context(), "big", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(scaleDownAfter - time.Second) // the second node is about to go
		w.finish("a")
		time.Sleep(5 * time.Second)
		if n := w.count(); n != 1 {
			t.Errorf("%d nodes, want 1: the first has been idle for seconds", n)
		}
	})
}
