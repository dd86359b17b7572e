package azurenative

import (
	"reflect"
	"strings"

	"ray-on-aks/rehearsal/cloud"
)

// clusterOf answers the id of a pool's cluster.
func clusterOf(poolID string) string {
	cluster, _, _ := strings.Cut(poolID, "/agentPools/")
	return cluster
}

func poolOutputs(w write) map[string]any {
	cluster, _, _ := find(w.resources, clusterOf(w.id))
	out := poolDefaults(w.inputs, cluster.Inputs, w.old)
	out["typePropertiesType"] = "VirtualMachineScaleSets"
	if typ := text(w.inputs, "type"); typ != "" {
		out["typePropertiesType"] = typ
	}
	return out
}

// inlinePools are a cluster's inline pools as ARM reports them.
func inlinePools(w write) []any {
	given := list(w.inputs, "agentPoolProfiles")
	out := make([]any, len(given))
	for i, item := range given {
		pool, ok := item.(map[string]any)
		if !ok {
			out[i] = item
			continue
		}
		live := map[string]any{}
		underlay(live, pool)
		underlay(live, poolDefaults(pool, w.inputs, inlinePool(w.old, text(pool, "name"))))
		underlay(live, map[string]any{"type": "VirtualMachineScaleSets"})
		out[i] = live
	}
	return out
}

// inlinePool answers the inline pool of that name, or nil.
func inlinePool(cluster map[string]any, name string) map[string]any {
	for _, item := range list(cluster, "agentPoolProfiles") {
		if pool, ok := item.(map[string]any); ok && pool["name"] == name {
			return pool
		}
	}
	return nil
}

// allowCluster refuses what AKS refuses of a cluster's inline pools.
func allowCluster(w write) error {
	name := lastSegment(w.id)
	for id, record := range w.resources {
		if record.Type == ManagedCluster && id != w.id && lastSegment(id) == name {
			return conflict("EmulatorLimit", "a cluster named %s exists already in another resource group; "+
				"the rehearsal keeps a control plane per cluster name", name)
		}
	}
	if w.old == nil {
		return nil
	}
	if err := allowUpgrade(text(w.old, "currentKubernetesVersion"), text(w.inputs, "kubernetesVersion")); err != nil {
		return err
	}
	for _, item := range list(w.inputs, "agentPoolProfiles") {
		pool, ok := item.(map[string]any)
		if !ok {
			continue
		}
		live := inlinePool(w.old, text(pool, "name"))
		if live == nil {
			return badRequest("BadRequest", "A new agent pool %q was introduced. Adding agent pools to an existing cluster is "+
				"not allowed through managed cluster operations. Use an AgentPool of its own.", text(pool, "name"))
		}
		for _, key := range poolImmutable {
			if value, given := pool[key]; given && !reflect.DeepEqual(value, live[key]) {
				return badRequest("PropertyChangeNotAllowed", "Changing property %q of agent pool %q from %v to %v is not allowed.",
					key, text(pool, "name"), live[key], value)
			}
		}
	}
	return nil
}

// allowPool refuses a pool whose name an inline one has, and a change that
// takes the cluster's last system pool away.
func allowPool(w write) error {
	cluster, id, _ := find(w.resources, clusterOf(w.id))
	if w.old == nil && inlinePool(cluster.Outputs, lastSegment(w.id)) != nil {
		return conflict("Conflict", "Agent pool %q exists already, inline in cluster %s.", lastSegment(w.id), lastSegment(id))
	}
	if w.old["mode"] == "System" && w.inputs["mode"] != "System" {
		if err := allowPoolDelete(w.resources, w.id); err != nil {
			return err
		}
	}
	return allowPoolVersion(w)
}

// allowPoolDelete refuses to take the last system pool from a cluster.
func allowPoolDelete(resources cloud.Resources, id string) error {
	record, id, ok := find(resources, id)
	if !ok || record.Outputs["mode"] != "System" {
		return nil
	}
	cluster, clusterID, ok := find(resources, clusterOf(id))
	if !ok {
		return nil
	}
	for _, item := range list(cluster.Outputs, "agentPoolProfiles") {
		if pool, ok := item.(map[string]any); ok && pool["mode"] == "System" {
			return nil
		}
	}
	for _, other := range below(resources, clusterID) {
		if other != id && resources[other].Type == AgentPool && resources[other].Outputs["mode"] == "System" {
			return nil
		}
	}
	return badRequest("OperationNotAllowed", "There has to be at least one system agent pool in cluster %s; %q is the last one. "+
		"Delete the cluster itself, or add another system pool first.", lastSegment(clusterID), lastSegment(id))
}
