package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/livecache"
)

// scaleDownAfter is how long a node must be empty before the autoscaler takes
// it away. AKS waits 10 minutes; a rehearsal has no use for nine of them.
const scaleDownAfter = time.Minute

// Controller keeps a cluster's nodes as its pools say.
type Controller struct {
	Cluster string
	// Version is the API server's, such as v1.35.3.
	Version string
	Store   *cloud.Store
	Client  kubernetes.Interface
	Log     *slog.Logger
	// Process says whether a pod is a process of this machine, which ends by
	// itself. Nil: none is.
	Process func(*corev1.Pod) bool

	pods  *livecache.Cache[*corev1.Pod]
	nodes *livecache.Cache[*corev1.Node]
	// refused is why a pool has no nodes, as it was last logged.
	refused map[string]string
	// empty is the last node of each pool that was seen without pods.
	empty map[string]emptyNode
}

// emptyNode is a node and the time since when it has no pods.
type emptyNode struct {
	name  string
	since time.Time
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	c.refused, c.empty = map[string]string{}, map[string]emptyNode{}
	var err error
	if c.pods, err = livecache.Watch(ctx, c.Client, c.Client.CoreV1().Pods(""), &corev1.Pod{}); err != nil {
		return err
	}
	if c.nodes, err = livecache.Watch(ctx, c.Client, c.Client.CoreV1().Nodes(), &corev1.Node{}); err != nil {
		return err
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := c.sync(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("keeping nodes", "cluster", c.Cluster, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *Controller) sync(ctx context.Context) error {
	var pools []Pool
	err := c.Store.View(func(r cloud.Resources) error {
		pools = Pools(r, c.Cluster)
		for i := range pools {
			pools[i].Version = kubelet(pools[i].Version, c.Version)
		}
		return nil
	})
	if err != nil {
		return err
	}
	pools = slices.DeleteFunc(pools, c.impossible)
	wanted := map[string]*corev1.Node{}
	for _, p := range pools {
		for i := range p.Count {
			node, err := p.Node(i)
			if err != nil {
				return err
			}
			wanted[node.Name] = node
		}
	}
	if err := c.match(ctx, wanted); err != nil {
		return err
	}
	if err := c.reap(ctx); err != nil {
		return err
	}
	return errors.Join(c.autoscale(pools), c.upgrade(ctx, wanted))
}

// impossible says whether no node can be made of the pool, and logs why, once.
// The other pools do without it.
func (c *Controller) impossible(p Pool) bool {
	_, err := p.Node(0)
	if err == nil {
		delete(c.refused, p.Name)
		return false
	}
	if c.refused[p.Name] != err.Error() {
		c.refused[p.Name] = err.Error()
		c.Log.Error("a pool gets no nodes", "pool", p.Name, "reason", err)
	}
	return true
}

// match creates missing nodes and deletes those that no pool wants, together
// with their pods, as when a virtual machine goes.
func (c *Controller) match(ctx context.Context, wanted map[string]*corev1.Node) error {
	present := map[string]bool{}
	for _, node := range c.nodes.List() {
		present[node.Name] = true
		if _, ok := wanted[node.Name]; ok || node.Annotations[simulated] == "" {
			continue
		}
		c.Log.Info("removing node", "node", node.Name)
		if err := c.Client.CoreV1().Nodes().Delete(ctx, node.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting node %s: %w", node.Name, err)
		}
	}
	for name, node := range wanted {
		if present[name] {
			continue
		}
		c.Log.Info("adding node", "node", name)
		created, err := c.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("creating node %s: %w", name, err)
		}
		created.Status = node.Status
		if _, err := c.Client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("setting the capacity of node %s: %w", name, err)
		}
	}
	return nil
}
