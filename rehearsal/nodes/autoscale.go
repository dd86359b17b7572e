package nodes

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ray-on-aks/rehearsal/cloud"
)

// autoscale changes the count of autoscaled pools in the cloud; the next sync
// makes or removes the nodes.
func (c *Controller) autoscale(pools []Pool) error {
	more, err := growth(pools, c.pods.List(), c.cordoned())
	if err != nil {
		return err
	}
	for _, p := range pools {
		if !p.scales() {
			continue
		}
		count := p.Count
		switch {
		case count < p.Min:
			count = p.Min
		case more[p.Name] > 0:
			count += more[p.Name]
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

// cordoned are the nodes that take no pods.
func (c *Controller) cordoned() map[string]bool {
	names := map[string]bool{}
	for _, node := range c.nodes.List() {
		names[node.Name] = node.Spec.Unschedulable
	}
	return names
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

// lastIsIdle says whether the pool's last node has had no pods long enough.
func (c *Controller) lastIsIdle(p Pool) bool {
	node, err := p.Node(p.Count - 1)
	if err != nil {
		return false // reported by sync
	}
	busy := slices.ContainsFunc(c.pods.List(), func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == node.Name && !ended(pod)
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
