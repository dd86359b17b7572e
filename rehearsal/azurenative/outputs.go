package azurenative

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// kept answers what the live resource already has at key, else a new value:
// what the cloud makes up at creation stays for the resource's life, and is
// another one after it was deleted and created again.
func (w write) kept(key string, made any) any {
	if old, ok := w.old[key]; ok {
		return old
	}
	return made
}

func newGUID() string { return uuid.NewString() }

func identityOutputs(w write) map[string]any {
	return map[string]any{
		"clientId":    w.kept("clientId", newGUID()),
		"principalId": w.kept("principalId", newGUID()),
		"tenantId":    w.config.tenant,
	}
}

func accountOutputs(w write) map[string]any {
	name, location := text(w.inputs, "accountName"), canonicalLocation(text(w.inputs, "location"))
	endpoints := map[string]any{}
	for _, service := range []string{"blob", "dfs", "file", "queue", "table", "web"} {
		endpoints[service] = fmt.Sprintf("https://%s.%s.core.windows.net/", name, service)
	}
	tier, _, _ := strings.Cut(text(object(w.inputs, "sku"), "name"), "_")
	return map[string]any{
		"primaryEndpoints": endpoints, "primaryLocation": location, "statusOfPrimary": "available",
		"creationTime": w.kept("creationTime", time.Now().UTC().Format(time.RFC3339)),
		"accessTier":   "Hot", "minimumTlsVersion": "TLS1_0", "enableHttpsTrafficOnly": true, "allowBlobPublicAccess": false,
		"sku": map[string]any{"tier": tier},
		"networkRuleSet": map[string]any{"bypass": "AzureServices", "defaultAction": "Allow",
			"ipRules": []any{}, "virtualNetworkRules": []any{}},
		"privateEndpointConnections": []any{},
	}
}

func containerOutputs(w write) map[string]any {
	return map[string]any{
		"publicAccess": "None", "hasImmutabilityPolicy": false, "hasLegalHold": false,
		"leaseState": "Available", "leaseStatus": "Unlocked", "defaultEncryptionScope": "$account-encryption-key",
		"denyEncryptionScopeOverride": false,
		"lastModifiedTime":            w.kept("lastModifiedTime", time.Now().UTC().Format(time.RFC3339)),
	}
}

func assignmentOutputs(w write) map[string]any {
	return map[string]any{
		"scope":     strings.TrimSuffix(text(w.inputs, "scope"), "/"),
		"createdOn": w.kept("createdOn", time.Now().UTC().Format(time.RFC3339)),
	}
}

func clusterOutputs(w write) map[string]any {
	name, group := text(w.inputs, "resourceName"), text(w.inputs, "resourceGroupName")
	location := canonicalLocation(text(w.inputs, "location"))
	nodeGroup := text(w.inputs, "nodeResourceGroup")
	if nodeGroup == "" {
		nodeGroup = fmt.Sprintf("MC_%s_%s_%s", group, name, location)
	}
	uid := fmt.Sprint(w.kept("resourceUID", strings.ReplaceAll(newGUID(), "-", "")[:24]))
	fqdn := fmt.Sprintf("%s-%s.hcp.%s.azmk8s.io", text(w.inputs, "dnsPrefix"), uid[:8], location)
	kubelet := fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.ManagedIdentity/userAssignedIdentities/%s-agentpool",
		w.config.subscription, nodeGroup, name)
	out := map[string]any{
		"fqdn": fqdn, "azurePortalFQDN": strings.Replace(fqdn, ".hcp.", ".portal.hcp.", 1),
		"resourceUID": uid, "nodeResourceGroup": nodeGroup, "maxAgentPools": 100.0, "enableRBAC": true,
		"currentKubernetesVersion": patchOf(text(w.inputs, "kubernetesVersion"), text(w.old, "currentKubernetesVersion")),
		"powerState":               map[string]any{"code": "Running"},
		"sku":                      map[string]any{"name": "Base", "tier": "Free"},
		"supportPlan":              "KubernetesOfficial",
		"identityProfile": w.kept("identityProfile", map[string]any{"kubeletidentity": map[string]any{
			"clientId": newGUID(), "objectId": newGUID(), "resourceId": kubelet}}),
		"networkProfile": map[string]any{"networkPlugin": "azure", "loadBalancerSku": "standard", "outboundType": "loadBalancer",
			"serviceCidr": "10.0.0.0/16", "dnsServiceIP": "10.0.0.10"},
		"storageProfile": map[string]any{"diskCSIDriver": map[string]any{"enabled": true},
			"fileCSIDriver": map[string]any{"enabled": true}, "snapshotController": map[string]any{"enabled": true}},
		"agentPoolProfiles": inlinePools(w),
	}
	if identity := clusterIdentity(w); identity != nil {
		out["identity"] = identity
	}
	if object(w.inputs, "oidcIssuerProfile")["enabled"] == true {
		out["oidcIssuerProfile"] = map[string]any{
			"issuerURL": fmt.Sprintf("https://%s.oic.emulated.invalid/%s/%s/", location, w.config.tenant, uid)}
	}
	return out
}

// clusterIdentity is the cluster's identity as ARM reports it: a map instead
// of the list that the program gives.
func clusterIdentity(w write) map[string]any {
	given := object(w.inputs, "identity")
	if given == nil {
		return nil
	}
	out := map[string]any{"type": given["type"]}
	if given["type"] == "SystemAssigned" {
		old := object(w.old, "identity")
		out["principalId"] = write{old: old}.kept("principalId", newGUID())
		out["tenantId"] = w.config.tenant
	}
	if ids := list(given, "userAssignedIdentities"); ids != nil {
		assigned := map[string]any{}
		for _, id := range ids {
			record, _, _ := find(w.resources, fmt.Sprint(id))
			assigned[fmt.Sprint(id)] = map[string]any{
				"clientId": text(record.Outputs, "clientId"), "principalId": text(record.Outputs, "principalId")}
		}
		out["userAssignedIdentities"] = assigned
	}
	return out
}

// poolDefaults are what AKS fills in for a pool, standalone or inline.
func poolDefaults(pool, cluster, old map[string]any) map[string]any {
	version := text(pool, "orchestratorVersion")
	if version == "" {
		version = text(cluster, "kubernetesVersion")
	}
	count, ok := old["count"]
	if !ok {
		count = 1.0
		if pool["enableAutoScaling"] == true && pool["minCount"] != nil {
			count = pool["minCount"]
		}
	}
	maxPods, network := 30.0, object(cluster, "networkProfile")
	switch {
	case network["networkPluginMode"] == "overlay":
		maxPods = 250
	case network["networkPlugin"] == "kubenet":
		maxPods = 110
	}
	out := map[string]any{
		"count": count, "mode": "User", "osType": "Linux", "osSKU": "Ubuntu", "osDiskType": "Managed", "osDiskSizeGB": 128.0,
		"maxPods": maxPods, "kubeletDiskType": "OS", "scaleDownMode": "Delete", "enableFIPS": false, "enableNodePublicIP": false,
		"orchestratorVersion": version, "currentOrchestratorVersion": patchOf(version, text(old, "currentOrchestratorVersion")),
		"nodeImageVersion": "AKSUbuntu-2204gen2containerd-emulated",
		"powerState":       map[string]any{"code": "Running"}, "provisioningState": "Succeeded",
		"upgradeSettings": map[string]any{"maxSurge": "10%"},
	}
	if pool["scaleSetPriority"] == "Spot" {
		out["scaleSetEvictionPolicy"], out["spotMaxPrice"] = "Delete", -1.0
	}
	return out
}
