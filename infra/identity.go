package infra

import (
	"fmt"

	"ray-on-aks/internal/aks"

	"github.com/google/uuid"
	"github.com/pulumi/pulumi-azure-native-sdk/authorization/v2"
	"github.com/pulumi/pulumi-azure-native-sdk/managedidentity/v2"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// roleBlobDataContributor is Storage Blob Data Contributor: read, write and delete blobs.
	// https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/storage#storage-blob-data-contributor
	roleBlobDataContributor = "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
	// tokenAudience is what Entra asks a federated token to be issued for.
	tokenAudience = "api://AzureADTokenExchange"
)

// assignmentNamespace makes our UUIDs differ from those that others derive from the same names. It is a random UUID and must
// never change: every role assignment would be replaced.
var assignmentNamespace = uuid.MustParse("8c7a4f0e-53a6-4f6b-9d0c-8a6f3f1f2b7d")

// newIdentity makes the identity of the workloads, lets it into the storage account, and lets the service account be it.
func (c *Infra) newIdentity(ctx *pulumi.Context, account pulumi.IDOutput) error {
	identity, err := managedidentity.NewUserAssignedIdentity(ctx, c.name+"-identity", &managedidentity.UserAssignedIdentityArgs{
		ResourceName:      pulumi.String(c.args.identityName()),
		ResourceGroupName: c.group.Name,
		Location:          pulumi.String(c.args.Location),
		Tags:              c.tags(),
	}, pulumi.Parent(c))
	if err != nil {
		return err
	}
	_, err = authorization.NewRoleAssignment(ctx, c.name+"-identity-blobs", &authorization.RoleAssignmentArgs{
		RoleAssignmentName: pulumi.String(c.args.assignmentName(roleBlobDataContributor)),
		RoleDefinitionId: pulumi.String("/subscriptions/" + c.args.SubscriptionID +
			"/providers/Microsoft.Authorization/roleDefinitions/" + roleBlobDataContributor),
		PrincipalId: identity.PrincipalId,
		// Without the type, Azure looks the principal up, and a new identity may not have been replicated yet.
		PrincipalType: pulumi.String(authorization.PrincipalTypeServicePrincipal),
		Scope:         account.ToStringOutput(),
	}, pulumi.Parent(c))
	if err != nil {
		return fmt.Errorf("assigning the role: %w", err)
	}
	credential, err := c.federate(ctx, identity)
	if err != nil {
		return fmt.Errorf("federating %s/%s: %w", c.args.Namespace, c.args.ServiceAccount, err)
	}
	return c.newServiceAccount(ctx, identity.ClientId, credential)
}

// federate trusts the tokens that the cluster issues to the workloads' service account.
func (c *Infra) federate(ctx *pulumi.Context, identity *managedidentity.UserAssignedIdentity) (pulumi.Resource, error) {
	ns, sa := c.args.Namespace, c.args.ServiceAccount
	issuer := c.aks.OidcIssuerProfile.IssuerURL().Elem()
	return managedidentity.NewFederatedIdentityCredential(ctx, c.name+"-federation-"+ns+"-"+sa, &managedidentity.FederatedIdentityCredentialArgs{
		FederatedIdentityCredentialResourceName: pulumi.String(credentialName(ns, sa)),
		ResourceGroupName:                       c.group.Name,
		ResourceName:                            identity.Name,
		Issuer:                                  issuer,
		Subject:                                 pulumi.String("system:serviceaccount:" + ns + ":" + sa),
		Audiences:                               pulumi.ToStringArray([]string{tokenAudience}),
	}, pulumi.Parent(c))
}

func (c *Infra) newServiceAccount(ctx *pulumi.Context, clientID pulumi.StringOutput, credential pulumi.Resource) error {
	namespace, err := c.newNamespace(ctx, "namespace", c.args.Namespace)
	if err != nil {
		return err
	}
	account, err := corev1.NewServiceAccount(ctx, c.name+"-service-account", &corev1.ServiceAccountArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:        pulumi.String(c.args.ServiceAccount),
			Namespace:   pulumi.String(c.args.Namespace),
			Labels:      pulumi.StringMap{aks.LabelManagedBy: pulumi.String(aks.ManagedBy)},
			Annotations: pulumi.StringMap{aks.AnnotationClientID: clientID},
		},
		// A pod that starts before the credential is there gets tokens that Entra refuses.
	}, c.child(pulumi.DependsOn([]pulumi.Resource{namespace, credential})))
	if err != nil {
		return err
	}
	c.ready = append(c.ready, namespace, account)
	return nil
}

func (c *Infra) newNamespace(ctx *pulumi.Context, role, name string) (*corev1.Namespace, error) {
	return corev1.NewNamespace(ctx, c.name+"-"+role, &corev1.NamespaceArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:   pulumi.String(name),
			Labels: pulumi.StringMap{aks.LabelManagedBy: pulumi.String(aks.ManagedBy)},
		},
	}, c.child())
}

// credentialName is unique in an identity, since namespace and service account are in the cluster.
func credentialName(namespace, serviceAccount string) string { return namespace + "-" + serviceAccount }

// assignmentName derives the assignment's name from plain names: it is known at preview, the same at every run, and another one
// when identity or role is another.
func (a Args) assignmentName(role string) string {
	key := a.SubscriptionID + "/" + a.resourceGroupName() + "/" + a.identityName() + "/storage/" + role
	return uuid.NewSHA1(assignmentNamespace, []byte(key)).String()
}
