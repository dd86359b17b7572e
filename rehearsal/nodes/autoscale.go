package nodes

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ray-on-aks/rehearsal/cloud"
)

// settle is how long a new node is given to take pods before the pool may grow
// once more: otherwise one pending pod would bring several nodes.
const settle = 3 * time.Second

// autoscale changes the count of autoscaled pools in the cloud; the next sync
// makes or removes the nodes.
func (c *Controller) autoscale(pools []Pool) error {
	for _, p := range pools {
		if !p.Autoscaled {
			continue
		}
		count := p.Count
		switch {
		case count < p.Min:
			count = p.Min
		case count < p.Max && time.Since(c.grown[p.Name]) > settle && c.needed(p):
			count++
			c.grown[p.Name] = time.Now()
		case count > p.Min && c.lastIsIdle(p):
			count--
		}
		if count == p.Count {
			continue
		}
		c.Log.Info("autoscaling", "pool", p.Name, "from", p.Count, "to", count)
		if err := c.setCount(p, count); err != nil {
			return fmt.Errorf("scaling pool %s: %w", p.Name, err)
		}
	}
	return nil
}

// setCount writes the count as the cluster autoscaler does: past the program,
// which sees it at its next refresh.
func (c *Controller) setCount(p Pool, count int) error {
	return c.Store.Update(func(r cloud.Resources) error {
		record, ok := r[p.ID]
		if !ok {
			return nil // deleted meanwhile
		}
		record.Outputs["count"] = float64(count)
		r[p.ID] = record
		return nil
	})
}

// needed says whether a pod waits that a new node of the pool could take.
func (c *Controller) needed(p Pool) bool {
	node, err := p.Node(p.Count)
	if err != nil {
		return false // reported by sync
	}
	return slices.ContainsFunc(c.pods.List(), func(pod *corev1.Pod) bool {
		return unschedulable(pod) && fits(pod, node)
	})
}

func unschedulable(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil &&
		slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
				c.Reason == corev1.PodReasonUnschedulable
		})
}

// fits says whether an empty node could take the pod: selector, taints, room.
func fits(pod *corev1.Pod, node *corev1.Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
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
	requests := corev1.ResourceList{}
	for _, container := range pod.Spec.Containers {
		for name, quantity := range container.Resources.Requests {
			sum := requests[name]
			sum.Add(quantity)
			requests[name] = sum
		}
	}
	for name, quantity := range requests {
		// What a node does not have reads as zero.
		if quantity.Cmp(node.Status.Allocatable[name]) > 0 {
			return false
		}
	}
	return true
}

// lastIsIdle says whether the pool's last node has had no pods long enough.
func (c *Controller) lastIsIdle(p Pool) bool {
	node, err := p.Node(p.Count - 1)
	if err != nil {
		return false // reported by sync
	}
	busy := slices.ContainsFunc(c.pods.List(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node.Name && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	})
	if busy {
		delete(c.empty, p.Name)
		return false
	}
	// Another node was the last one before: this one may have had pods meanwhile.
	if c.empty[p.Name].name != node.Name {
		c.empty[p.Name] = emptyNode{node.Name, time.Now()}
	}
	if time.Since(c.empty[p.Name].since) < scaleDownAfter {
		return false
	}
	delete(c.empty, p.Name)
	return true
}
