package infra

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi-azure-native-sdk/managedidentity/v2"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// dependsOn says whether a resource comes after the one of that logical name.
func dependsOn(r stacktest.Resource, name string) bool {
	return slices.ContainsFunc(r.Dependencies, func(urn string) bool { return strings.HasSuffix(urn, "::"+name) })
}

func TestEachTenantHasAnIdentityOfItsOwn(t *testing.T) {
	r := run(t, large())
	names := map[string]bool{}
	for tenant, namespace := range map[string]string{"vision": "ray-vision", "language": "ray-language"} {
		identity := "id-ray-test-" + tenant
		if got := r.Named(t, "infra-identity-"+tenant).Inputs["resourceName"].StringValue(); got != identity {
			t.Errorf("identity %s", got)
		}
		assignment := r.Named(t, "infra-blobs-"+tenant).Inputs
		name := assignment["roleAssignmentName"].StringValue()
		if _, err := uuid.Parse(name); err != nil || names[name] {
			t.Errorf("assignment %q of %s: no UUID of its own: %v", name, tenant, err)
		}
		names[name] = true
		for key, want := range map[string]string{
			"principalType": "ServicePrincipal", "scope": "infra-storage-id", "principalId": stacktest.PrincipalID(identity),
		} {
			if got := assignment[resource.PropertyKey(key)].StringValue(); got != want {
				t.Errorf("%s of %s is %q, want %q", key, tenant, got, want)
			}
		}
		credential := r.Named(t, "infra-federation-"+tenant+"."+namespace+"-ray-workload").Inputs
		for key, want := range map[string]string{
			"resourceName": identity, "issuer": stacktest.IssuerURL, "subject": "system:serviceaccount:" + namespace + ":ray-workload",
		} {
			if got := credential[resource.PropertyKey(key)].StringValue(); got != want {
				t.Errorf("%s of %s is %q, want %q", key, tenant, got, want)
			}
		}
	}
}

func TestPodsOfEachTenantFindTheirPlatform(t *testing.T) {
	r := run(t, large())
	for tenant, namespace := range map[string]string{"vision": "ray-vision", "language": "ray-language"} {
		account := r.Named(t, "infra-service-account-"+tenant).Inputs["metadata"].ObjectValue()
		client := account["annotations"].ObjectValue()["azure.workload.identity/client-id"].StringValue()
		if account["namespace"].StringValue() != namespace || client != stacktest.ClientID("id-ray-test-"+tenant) {
			t.Errorf("%s has the service account %v", tenant, account)
		}
		platform := r.Named(t, "infra-platform-"+tenant).Inputs
		metadata, data := platform["metadata"].ObjectValue(), platform["data"].Mappable().(map[string]any)
		if metadata["namespace"].StringValue() != namespace || metadata["name"].StringValue() != "platform" {
			t.Errorf("%s has the platform %v", tenant, metadata)
		}
		if want := map[string]any{"STORAGE_ACCOUNT": "ray" + stacktest.Suffix, "AZURE_LOCATION": "eastus2"}; !maps.Equal(data, want) {
			t.Errorf("platform %v, want %v", data, want)
		}
	}
}

func TestRemovingATenantLeavesTheOtherAlone(t *testing.T) {
	with, without := large(), large()
	without.Tenants = without.Tenants[1:]
	inputs := func(r stacktest.Recording) map[string]string {
		all := map[string]string{}
		for _, res := range r.Resources {
			text, err := json.Marshal(res.Inputs.Mappable())
			if err != nil {
				t.Fatal(err)
			}
			all[res.URN()] = string(text)
		}
		return all
	}
	before, after := inputs(run(t, with)), inputs(run(t, without))
	gone := 0
	for urn, text := range before {
		now, left := after[urn]
		switch {
		case !left && strings.Contains(urn, "vision"):
			gone++
		case !left:
			t.Errorf("%s went too", urn)
		case now != text && urn != releaseToken+"::infra-kueue":
			t.Errorf("%s changed from %s to %s", urn, text, now)
		}
	}
	// Namespace, identity, role, credential, service account, platform, and volume and claim of two containers.
	if gone != 10 || len(after) != len(before)-gone {
		t.Errorf("%d resources went, %d became %d", gone, len(before), len(after))
	}
}

func TestAssignmentNameFollowsWhatItSays(t *testing.T) {
	a, b := valid(), valid()
	tenant := a.Tenants[0]
	b.Tags = map[string]string{"x": "y"}
	if a.assignmentName(tenant, "r") != b.assignmentName(tenant, "r") {
		t.Error("a tag renames the assignment")
	}
	b.Name = "other"
	if a.assignmentName(tenant, "r") == b.assignmentName(tenant, "r") || a.assignmentName(tenant, "r") == a.assignmentName(tenant, "s") {
		t.Error("another identity or role has the same name")
	}
	if a.assignmentName(tenant, "r") == a.assignmentName(Tenant{Name: "other", Namespace: "ray-other"}, "r") {
		t.Error("another tenant has the same name")
	}
}

// TestARenamedTenantKeepsWhatIsInItsNamespace: all that is called by the tenant is called by its namespace.
func TestARenamedTenantKeepsWhatIsInItsNamespace(t *testing.T) {
	renamed := large()
	renamed.Tenants = []Tenant{{Name: "seeing", Namespace: "ray-vision"}, {Name: "language", Namespace: "ray-language"}}
	before, after := run(t, large()), run(t, renamed)
	for i, res := range before.Resources {
		now := after.Resources[i]
		changed := !now.Inputs.DeepEquals(res.Inputs)
		if now.URN() != res.URN() || changed != (res.Name == "infra-namespace-vision") {
			t.Errorf("%s became %s; its inputs changed: %v", res.URN(), now.URN(), changed)
		}
	}
}

func TestCredentialsOfAnIdentityAreWrittenOneByOne(t *testing.T) {
	subjects := []subject{{"ray", "a"}, {"ray", "b"}, {"ray", "c"}}
	r := stacktest.Run(t, func(ctx *pulumi.Context) error {
		c, err := New(ctx, "infra", valid())
		if err != nil {
			return err
		}
		identity, err := managedidentity.NewUserAssignedIdentity(ctx, "identity", &managedidentity.UserAssignedIdentityArgs{
			ResourceName: pulumi.String("id"), ResourceGroupName: c.group.Name,
		})
		if err != nil {
			return err
		}
		return c.federate(ctx, Tenant{Name: "t", Namespace: "ray"}, identity, subjects)
	}, stacktest.Options{Stack: "test"})
	for i, s := range subjects[1:] {
		previous := "infra-federation-ray.ray-" + subjects[i].serviceAccount
		if !dependsOn(r.Named(t, "infra-federation-ray.ray-"+s.serviceAccount), previous) {
			t.Errorf("the credential of %s does not wait for the one before", s)
		}
	}
}

func TestAnIdentityHasTwentyCredentialsAtMost(t *testing.T) {
	subjects := make([]subject, maxSubjects+1)
	for i := range subjects {
		subjects[i] = subject{namespace: "ray", serviceAccount: "worker"}
	}
	if err := validateSubjects("queues.teams.a", subjects[1:]); err != nil {
		t.Errorf("twenty are refused: %v", err)
	}
	if err := validateSubjects("queues.teams.a", subjects); err == nil || !strings.Contains(err.Error(), "queues.teams.a: has 21 service accounts") {
		t.Errorf("twenty-one: %v", err)
	}
}
