package infra

import (
	"fmt"

	"ray-on-aks/internal/aks"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi-azure-native-sdk/authorization/v2"
	"github.com/pulumi/pulumi-azure-native-sdk/managedidentity/v2"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// roleBlobDataContributor is Storage Blob Data Contributor: read, write and delete blobs.
	// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage#storage-blob-data-contributor
	roleBlobDataContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
	// tokenAudience is what Entra asks a federated token to be issued for.
	tokenAudience = "api://AzureADTokenExchange"
	// maxSubjects is how many federated credentials Azure allows an identity.
	// https://learn.microsoft.com/azure/aks/workload-identity-overview#limitations
	maxSubjects = 20
	// maxCredentialName is what Azure allows the name of a federated credential.
	// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
	maxCredentialName = 120
)

// assignmentNamespace makes our UUIDs differ from those that others derive from the same names. It is a random UUID and must
// never change: every role assignment would be replaced.
var assignmentNamespace = uuid.MustParse("8c7a4f0e-53a6-4f6b-9d0c-8a6f3f1f2b7d")

// subject is a service account that an identity trusts.
type subject struct{ namespace, serviceAccount string }

// credentialName is unique in an identity, since namespace and service account are in the cluster.
func (s subject) credentialName() string { return s.namespace + "-" + s.serviceAccount }

// String is the subject of the tokens that the cluster issues to the service account.
func (s subject) String() string {
	return "system:serviceaccount:" + s.namespace + ":" + s.serviceAccount
}

// subjects are the service accounts that may be the tenant's identity.
func (a Args) subjects(t Tenant) []subject {
	return []subject{{namespace: t.Namespace, serviceAccount: a.ServiceAccount}}
}

// validateSubjects checks the credentials that an identity is to have. Their parts are checked where they are declared.
func validateSubjects(path string, subjects []subject) error {
	if len(subjects) > maxSubjects {
		return fmt.Errorf("%s: has %d service accounts, and Azure allows an identity %d", path, len(subjects), maxSubjects)
	}
	for _, s := range subjects {
		if n := len(s.credentialName()); n > maxCredentialName {
			return fmt.Errorf("infra.serviceAccount: %q has %d characters, and namespace %s has %d: Azure allows a federated credential %d "+
				"for both and a hyphen; shorten one", s.serviceAccount, len(s.serviceAccount), s.namespace, len(s.namespace), maxCredentialName)
		}
	}
	return nil
}

// newIdentity makes the tenant's identity, lets it into the storage account, and lets the tenant's service account be it.
func (c *Infra) newIdentity(ctx *pulumi.Context, t Tenant) (*managedidentity.UserAssignedIdentity, error) {
	identity, err := managedidentity.NewUserAssignedIdentity(ctx, c.name+"-identity-"+t.handle(), &managedidentity.UserAssignedIdentityArgs{
		ResourceName:      pulumi.String(c.args.identityName(t)),
		ResourceGroupName: c.group.Name,
		Location:          pulumi.String(c.args.Location),
		Tags:              c.tags(),
		// Only those that it is made with: in a preview, an identity that changes has no id, and all that is made of its id would be replaced.
	}, pulumi.Parent(c), pulumi.IgnoreChanges([]string{"tags"}))
	if err != nil {
		return nil, err
	}
	assignment, err := authorization.NewRoleAssignment(ctx, c.name+"-blobs-"+t.handle(), &authorization.RoleAssignmentArgs{
		RoleAssignmentName: pulumi.String(c.args.assignmentName(t, roleBlobDataContributor)),
		RoleDefinitionId: pulumi.String("/subscriptions/" + c.args.SubscriptionID +
			"/providers/Microsoft.Authorization/roleDefinitions/" + roleBlobDataContributor),
		PrincipalId: identity.PrincipalId,
		// Without the type, Azure looks the principal up, and a new identity may not have been replicated yet.
		PrincipalType: pulumi.String(authorization.PrincipalTypeServicePrincipal),
		Scope:         c.account.ID(),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, fmt.Errorf("assigning the role: %w", err)
	}
	c.settled = append(c.settled, assignment)
	return identity, c.federate(ctx, t, identity, c.args.subjects(t))
}

// federate trusts the tokens that the cluster issues to the subjects. Azure refuses a second write to the credentials of one identity
// while the first is under way, so each credential comes after the one before; deletes go the other way round.
func (c *Infra) federate(ctx *pulumi.Context, t Tenant, identity *managedidentity.UserAssignedIdentity, subjects []subject) error {
	var previous []pulumi.Resource
	for _, s := range subjects {
		credential, err := managedidentity.NewFederatedIdentityCredential(ctx, c.name+"-federation-"+t.handle()+"."+s.credentialName(),
			&managedidentity.FederatedIdentityCredentialArgs{
				FederatedIdentityCredentialResourceName: pulumi.String(s.credentialName()),
				ResourceGroupName:                       c.group.Name,
				ResourceName:                            identity.Name,
				Issuer:                                  c.OIDCIssuerURL,
				Subject:                                 pulumi.String(s.String()),
				Audiences:                               pulumi.ToStringArray([]string{tokenAudience}),
			},
			pulumi.Parent(c), pulumi.DependsOn(previous), replacedWith(c.aks))
		if err != nil {
			return fmt.Errorf("federating %s: %w", s, err)
		}
		previous = []pulumi.Resource{credential}
	}
	// A pod that starts before the credential is there gets tokens that Entra refuses.
	c.settled = append(c.settled, previous...)
	return nil
}

func (c *Infra) newServiceAccount(ctx *pulumi.Context, t Tenant, identity *managedidentity.UserAssignedIdentity, namespace pulumi.Resource) error {
	metadata := t.metadata(c.args.ServiceAccount)
	metadata.Annotations = pulumi.StringMap{aks.AnnotationClientID: identity.ClientId}
	account, err := corev1.NewServiceAccount(ctx, c.name+"-service-account-"+t.handle(), &corev1.ServiceAccountArgs{Metadata: metadata},
		c.child(pulumi.DependsOn([]pulumi.Resource{namespace})))
	if err != nil {
		return err
	}
	c.settled = append(c.settled, account)
	return nil
}

// assignmentName derives the assignment's name from plain names: it is known at preview, the same at every run, and another one
// when identity or role is another.
func (a Args) assignmentName(t Tenant, role string) string {
	key := a.SubscriptionID + "/" + a.resourceGroupName() + "/" + a.identityName(t) + "/storage/" + role
	return uuid.NewSHA1(assignmentNamespace, []byte(key)).String()
}
