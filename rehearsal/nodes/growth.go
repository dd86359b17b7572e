package nodes

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"ray-on-aks/internal/aks"
)

// growth answers how many more nodes each pool needs for the pods that wait.
// It packs them as the cluster autoscaler does: first into the room that nodes
// have, those on their way included, then into new ones, each pod into one
// pool. Where several pools could take a pod, the one with the smallest nodes
// does. On cordoned nodes there is no room.
func growth(pools []Pool, pods []*corev1.Pod, cordoned map[string]bool) (map[string]int, error) {
	rooms, err := roomsOf(pools, pods, cordoned)
	if err != nil {
		return nil, err
	}
	more := map[string]int{}
	for _, pod := range waitingPods(pods) {
		if slices.ContainsFunc(rooms, func(r room) bool { return r.take(pod) }) {
			continue
		}
		var best *room
		var pool string
		for _, p := range pools {
			if !p.scales() || p.Count+more[p.Name] >= p.Max {
				continue
			}
			node, err := p.Node(p.Count + more[p.Name])
			if err != nil {
				return nil, err
			}
			r := newRoom(node)
			if (best == nil || smaller(node, best.node)) && r.take(pod) {
				best, pool = &r, p.Name
			}
		}
		if best != nil {
			rooms = append(rooms, *best)
			more[pool]++
		}
	}
	return more, nil
}

// waitingPods are the pods that the scheduler found no node for, oldest first.
func waitingPods(pods []*corev1.Pod) []*corev1.Pod {
	waiting := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !unschedulable(p) })
	slices.SortFunc(waiting, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return waiting
}

func unschedulable(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
				c.Reason == corev1.PodReasonUnschedulable
		})
}

// smaller compares two sizes of nodes: GPUs are what costs most.
func smaller(a, b *corev1.Node) bool {
	for _, name := range []corev1.ResourceName{aks.ResourceGPU, corev1.ResourceCPU, corev1.ResourceMemory} {
		of, than := a.Status.Allocatable[name], b.Status.Allocatable[name]
		if c := of.Cmp(than); c != 0 {
			return c < 0
		}
	}
	return a.Name < b.Name
}

// room is a node and what its pods leave of it.
type room struct {
	node *corev1.Node
	free corev1.ResourceList
}

func newRoom(node *corev1.Node) room { return room{node, node.Status.Allocatable.DeepCopy()} }

// roomsOf answers the room on every node that the pools have or await, and that
// takes pods.
func roomsOf(pools []Pool, pods []*corev1.Pod, cordoned map[string]bool) ([]room, error) {
	var rooms []room
	for _, p := range pools {
		for i := range p.Count {
			node, err := p.Node(i)
			if err != nil {
				return nil, err
			}
			if cordoned[node.Name] {
				continue
			}
			r := newRoom(node)
			for _, pod := range pods {
				if pod.Spec.NodeName == node.Name && !ended(pod) {
					r.subtract(requests(pod))
				}
			}
			rooms = append(rooms, r)
		}
	}
	return rooms, nil
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// requests is what the pod takes of a node.
func requests(pod *corev1.Pod) corev1.ResourceList {
	list := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	list[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return list
}

// take puts the pod onto the node if it can be there.
func (r room) take(pod *corev1.Pod) bool {
	if !admits(r.node, pod) {
		return false
	}
	needed := requests(pod)
	for name, quantity := range needed {
		// What a node does not have reads as zero.
		if quantity.Cmp(r.free[name]) > 0 {
			return false
		}
	}
	r.subtract(needed)
	return true
}

func (r room) subtract(taken corev1.ResourceList) {
	for name, quantity := range taken {
		free := r.free[name]
		free.Sub(quantity)
		r.free[name] = free
	}
}

// admits says whether the pod may be on the node at all: its selector, its
// node affinity and the node's taints. What else the scheduler knows, such as
// spreading, no pod of an autoscaled pool asks for.
func admits(node *corev1.Node, pod *corev1.Pod) bool {
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !matches {
		return false // the scheduler takes an affinity that it cannot read for one that nothing matches, too
	}
	for _, taint := range node.Spec.Taints {
		tolerated := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect) &&
				(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
		})
		if !tolerated && taint.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return true
}
