package azurenative_test

import (
	"strconv"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"ray-on-aks/rehearsal/azurenative"
)

func itoa(n int) string { return strconv.Itoa(n) }

func resourceKey(key string) resource.PropertyKey { return resource.PropertyKey(key) }

// The stack's inputs, as the design has them.

func group() map[string]any {
	return map[string]any{"resourceGroupName": "rg-ray", "location": "eastus2", "tags": map[string]any{"stack": "dev"}}
}

func systemPool() map[string]any {
	return map[string]any{"name": "system", "mode": "System", "vmSize": "Standard_D4s_v5", "count": 1.0, "minCount": 1.0, "maxCount": 3.0,
		"enableAutoScaling": true, "osType": "Linux", "type": "VirtualMachineScaleSets",
		"nodeTaints": []any{"CriticalAddonsOnly=true:NoSchedule"}, "upgradeSettings": map[string]any{"maxSurge": "33%"}}
}

func cluster() map[string]any {
	return map[string]any{
		"resourceGroupName": "rg-ray", "resourceName": "aks-ray", "location": "eastus2", "dnsPrefix": "ray",
		"kubernetesVersion": "1.34", "enableRBAC": true, "disableLocalAccounts": false,
		"identity":               map[string]any{"type": "SystemAssigned"},
		"sku":                    map[string]any{"name": "Base", "tier": "Standard"},
		"oidcIssuerProfile":      map[string]any{"enabled": true},
		"securityProfile":        map[string]any{"workloadIdentity": map[string]any{"enabled": true}},
		"storageProfile":         map[string]any{"blobCSIDriver": map[string]any{"enabled": true}},
		"autoUpgradeProfile":     map[string]any{"upgradeChannel": "none", "nodeOSUpgradeChannel": "NodeImage"},
		"autoScalerProfile":      map[string]any{"expander": "least-waste", "scaleDownUnneededTime": "10m"},
		"networkProfile":         map[string]any{"networkPlugin": "azure", "networkPluginMode": "overlay", "outboundType": "loadBalancer", "loadBalancerSku": "standard"},
		"agentPoolProfiles":      []any{systemPool()},
		"tags":                   map[string]any{"stack": "dev"},
		"nodeResourceGroup":      "rg-ray-nodes",
		"supportPlan":            "KubernetesOfficial",
		"apiServerAccessProfile": map[string]any{"authorizedIPRanges": []any{"203.0.113.0/24"}},
	}
}

func pool() map[string]any {
	return map[string]any{
		"resourceGroupName": "rg-ray", "resourceName": "aks-ray", "agentPoolName": "a100", "mode": "User",
		"vmSize": "Standard_NC96ads_A100_v4", "enableAutoScaling": true, "minCount": 0.0, "maxCount": 4.0, "count": 0.0,
		"osType": "Linux", "osSKU": "Ubuntu", "osDiskSizeGB": 256.0, "osDiskType": "Managed", "maxPods": 110.0, "type": "VirtualMachineScaleSets",
		"nodeLabels": map[string]any{"pool": "a100"}, "nodeTaints": []any{"nvidia.com/gpu=present:NoSchedule"},
		"availabilityZones": []any{"1"}, "scaleDownMode": "Delete", "upgradeSettings": map[string]any{"maxSurge": "1"}, "tags": map[string]any{"stack": "dev"},
	}
}

func account() map[string]any {
	return map[string]any{
		"resourceGroupName": "rg-ray", "accountName": "rayx7k2p9", "location": "eastus2", "kind": "StorageV2",
		"sku": map[string]any{"name": "Standard_LRS"}, "minimumTlsVersion": "TLS1_2", "allowBlobPublicAccess": false, "allowSharedKeyAccess": false,
		"enableHttpsTrafficOnly": true, "accessTier": "Hot", "isHnsEnabled": false, "tags": map[string]any{"stack": "dev"},
		"networkRuleSet": map[string]any{"defaultAction": "Allow", "bypass": "AzureServices"},
	}
}

func container() map[string]any {
	return map[string]any{"resourceGroupName": "rg-ray", "accountName": "rayx7k2p9", "containerName": "llm-pipeline", "publicAccess": "None"}
}

func blobService() map[string]any {
	retention := map[string]any{"enabled": true, "days": 7.0}
	return map[string]any{"resourceGroupName": "rg-ray", "accountName": "rayx7k2p9", "blobServicesName": "default",
		"deleteRetentionPolicy": retention, "containerDeleteRetentionPolicy": retention}
}

func identity() map[string]any {
	return map[string]any{"resourceGroupName": "rg-ray", "resourceName": "id-team-a", "location": "eastus2", "tags": map[string]any{"stack": "dev"}}
}

func credential(name string) map[string]any {
	return map[string]any{"resourceGroupName": "rg-ray", "resourceName": "id-team-a", "federatedIdentityCredentialResourceName": name,
		"audiences": []any{"api://AzureADTokenExchange"}, "issuer": "https://oidc.example/", "subject": "system:serviceaccount:team-a:" + name}
}

func assignment(scope, principal string) map[string]any {
	return map[string]any{"scope": scope, "principalId": principal, "principalType": "ServicePrincipal",
		"roleAssignmentName": "6f0e9f8c-3e83-5d0e-9f0b-0c9b6a1f2d3e",
		"roleDefinitionId":   "/subscriptions/s/providers/Microsoft.Authorization/roleDefinitions/ba92f5b4-2d11-453d-a403-e96b0029c9fe"}
}

// stack creates everything, in order.
func (h *harness) stack() map[string]made {
	h.t.Helper()
	all := map[string]made{}
	all["group"] = h.create(azurenative.ResourceGroup, group())
	all["identity"] = h.create(azurenative.UserAssignedIdentity, identity())
	all["account"] = h.create(azurenative.StorageAccount, account())
	all["service"] = h.create(azurenative.BlobServiceProperties, blobService())
	all["container"] = h.create(azurenative.BlobContainer, container())
	all["cluster"] = h.create(azurenative.ManagedCluster, cluster())
	all["pool"] = h.create(azurenative.AgentPool, pool())
	all["credential"] = h.create(azurenative.FederatedIdentityCredential, credential("ray"))
	all["assignment"] = h.create(azurenative.RoleAssignment,
		assignment(string(all["account"].id), all["identity"].outputs["principalId"].StringValue()))
	return all
}

// The whole stack is accepted, gives the outputs that the program reads, and
// neither a second up nor a refresh shows a change.
func TestStackIsAcceptedAndDoesNotDrift(t *testing.T) {
	h := newHarness(t)
	all := h.stack()
	wanted := map[string][]string{
		"identity": {"clientId", "principalId", "tenantId", "name"},
		"account":  {"primaryEndpoints", "name", "type", "provisioningState"},
		"cluster":  {"fqdn", "nodeResourceGroup", "identityProfile", "oidcIssuerProfile", "name", "provisioningState"},
		"pool":     {"count", "provisioningState", "name", "type", "typePropertiesType", "currentOrchestratorVersion"},
	}
	for name, keys := range wanted {
		for _, key := range keys {
			if !all[name].outputs.HasValue(resourceKey(key)) {
				t.Errorf("%s has no output %s", name, key)
			}
		}
	}
	issuer := all["cluster"].outputs["oidcIssuerProfile"].ObjectValue()["issuerURL"]
	if !issuer.IsString() || issuer.StringValue() == "" {
		t.Errorf("the issuer is %v", issuer)
	}
	for name, m := range all {
		refreshed := h.read(m)
		if refreshed.id != m.id {
			t.Errorf("%s: refreshed to id %q", name, refreshed.id)
		}
		if d := refreshed.outputs.Diff(m.outputs); d != nil {
			t.Errorf("%s: refresh changes outputs: %v", name, d.ChangedKeys())
		}
		if d := h.diff(refreshed, m.inputs); len(d.DetailedDiff) > 0 {
			t.Errorf("%s: a refresh without change shows %v", name, d.DetailedDiff)
		}
		imported := h.read(made{token: m.token, id: m.id})
		if d := h.diff(imported, m.inputs); len(d.DetailedDiff) > 0 {
			t.Errorf("%s: an import shows %v", name, d.DetailedDiff)
		}
	}
}

func TestDeletingTheGroupDeletesAll(t *testing.T) {
	h := newHarness(t)
	all := h.stack()
	if err := h.delete(all["group"]); err != nil {
		t.Fatal(err)
	}
	if n := h.count(); n != 0 {
		t.Errorf("%d records are left", n)
	}
	if len(h.waiter.gone) != 1 || h.waiter.gone[0] != "aks-ray" {
		t.Errorf("waited for %v to be gone", h.waiter.gone)
	}
	for name, m := range all {
		if refreshed := h.read(m); refreshed.id != "" {
			t.Errorf("%s is still read", name)
		}
		if err := h.delete(m); err != nil {
			t.Errorf("deleting %s again: %v", name, err)
		}
	}
}

func TestDeletingTheClusterDeletesItsPools(t *testing.T) {
	h := newHarness(t)
	all := h.stack()
	if err := h.delete(all["cluster"]); err != nil {
		t.Fatal(err)
	}
	if refreshed := h.read(all["pool"]); refreshed.id != "" {
		t.Error("the pool outlived its cluster")
	}
	if refreshed := h.read(all["account"]); refreshed.id == "" {
		t.Error("the account went with the cluster")
	}
	if err := h.delete(all["service"]); err != nil {
		t.Fatal(err)
	}
	if refreshed := h.read(all["container"]); refreshed.id == "" {
		t.Error("the container went with the settings of the blob service")
	}
}
