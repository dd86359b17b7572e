package infra

import (
	"fmt"
	"strings"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"

	"github.com/pulumi/pulumi-azure-native-sdk/managedidentity/v2"
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// blobDriver is the Blob CSI driver, which AKS runs as part of the cluster.
	blobDriver = "blob.csi.azure.com"
	// volumeSize has to be said and says nothing: a container has no size, and the driver ignores it.
	volumeSize = "1Pi"
	// rayUID and rayGID are the user ray and the group users of Ray's images. BlobFuse does not heed a pod's fsGroup.
	rayUID, rayGID = 1000, 100
	// blockMiB is what is read or written at once, and prefetchBlocks how far a sequential reader is run ahead of. Of its own BlobFuse
	// would prefetch two blocks a core, more than the whole cache on a GPU node, and then refuses to mount; 11 is the fewest it takes.
	blockMiB       = 16
	prefetchBlocks = 12
	// attributeSeconds is for how long a mount may answer from memory what a file looks like, or that there is none. It is short, since
	// one pod's new checkpoint is the next pod's input; BlobFuse's own is 120.
	attributeSeconds = 5
	// listDelaySeconds spares the listing that BlobFuse makes at each mount, which costs money and may be of millions of blobs.
	listDelaySeconds = 10
)

// newMounts makes a volume and its claim for each container. Pods mount those that they ask for, by the claim's name.
func (c *Infra) newMounts(ctx *pulumi.Context, t Tenant, identity *managedidentity.UserAssignedIdentity, namespace pulumi.Resource) error {
	for _, container := range c.args.Storage.Containers {
		if err := c.newMount(ctx, t, container, identity, namespace); err != nil {
			return fmt.Errorf("%s: %w", container, err)
		}
	}
	return nil
}

// newMount makes one volume and its claim. What a volume mounts is immutable, and a volume that has lost its claim never takes another:
// where one is replaced so is the other, the claim going first and coming last.
func (c *Infra) newMount(ctx *pulumi.Context, t Tenant, container string, identity *managedidentity.UserAssignedIdentity, namespace pulumi.Resource) error {
	volume, err := corev1.NewPersistentVolume(ctx, c.name+"-volume-"+t.handle()+"."+container, &corev1.PersistentVolumeArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:   pulumi.String(c.args.volumeName(t, container)),
			Labels: pulumi.StringMap{aks.LabelManagedBy: pulumi.String(aks.ManagedBy)},
		},
		Spec: c.volumeSpec(t, container, identity),
	}, c.child(pulumi.ReplaceOnChanges([]string{"spec.csi"})))
	if err != nil {
		return err
	}
	claim, err := corev1.NewPersistentVolumeClaim(ctx, c.name+"-claim-"+t.handle()+"."+container, &corev1.PersistentVolumeClaimArgs{
		Metadata: t.metadata(aks.ClaimName(container)),
		Spec: &corev1.PersistentVolumeClaimSpecArgs{
			AccessModes: pulumi.ToStringArray([]string{"ReadWriteMany"}),
			// Empty rather than left out: a claim without a class gets the cluster's default one, and a disk.
			StorageClassName: pulumi.String(""),
			// The output rather than the name: it is what has the claim replaced with its volume.
			VolumeName: volume.Metadata.Name(),
			Resources:  &corev1.VolumeResourceRequirementsArgs{Requests: pulumi.StringMap{"storage": pulumi.String(volumeSize)}},
		},
	}, c.child(pulumi.DependsOn([]pulumi.Resource{namespace}), pulumi.ReplaceOnChanges([]string{"spec"})))
	if err != nil {
		return err
	}
	c.settled = append(c.settled, volume, claim)
	return nil
}

func (c *Infra) volumeSpec(t Tenant, container string, identity *managedidentity.UserAssignedIdentity) *corev1.PersistentVolumeSpecArgs {
	return &corev1.PersistentVolumeSpecArgs{
		Capacity:    pulumi.StringMap{"storage": pulumi.String(volumeSize)},
		AccessModes: pulumi.ToStringArray([]string{"ReadWriteMany"}),
		// The data is the container's, whatever becomes of the volume.
		PersistentVolumeReclaimPolicy: pulumi.String("Retain"),
		StorageClassName:              pulumi.String(""),
		MountOptions:                  pulumi.ToStringArray(c.args.Storage.mountOptions()),
		// Named in advance, so that no claim of another namespace can take the volume.
		ClaimRef: &corev1.ObjectReferenceArgs{
			ApiVersion: pulumi.String("v1"), Kind: pulumi.String("PersistentVolumeClaim"),
			Namespace: pulumi.String(t.Namespace), Name: pulumi.String(aks.ClaimName(container)),
		},
		Csi: &corev1.CSIPersistentVolumeSourceArgs{
			Driver: pulumi.String(blobDriver),
			// The driver reads the first three parts; the fourth only tells the volumes of one container apart.
			VolumeHandle: pulumi.Sprintf("%s#%s#%s#%s", c.group.Name, c.account.Name, container, t.Namespace),
			// With the token of the pod's own service account each pod has a mount of its own, and no key of the account is ever read.
			// https://github.com/kubernetes-sigs/blob-csi-driver/blob/master/docs/workload-identity-static-pv-mount.md
			VolumeAttributes: pulumi.StringMap{
				"resourcegroup":                  c.group.Name,
				"storageaccount":                 c.account.Name,
				"containerName":                  pulumi.String(container),
				"protocol":                       pulumi.String("fuse2"),
				"clientID":                       identity.ClientId,
				"mountWithWorkloadIdentityToken": pulumi.String("true"),
			},
		},
	}
}

// volumeName is unique in the cluster: neither a namespace nor a container's name has a dot.
func (a Args) volumeName(t Tenant, container string) string {
	return strings.ToLower(a.Name) + "." + t.Namespace + "." + container
}

// mountOptions are BlobFuse's. Blocks are cached in memory and of bounded size, the size that infra/sku keeps free for each mount; a
// cache of whole files would lie on a disk that all mounts of the node share.
// https://github.com/Azure/azure-storage-fuse/blob/main/README.md
func (s Storage) mountOptions() []string {
	options := []string{
		"-o allow_other",
		fmt.Sprintf("-o uid=%d", rayUID),
		fmt.Sprintf("-o gid=%d", rayGID),
		fmt.Sprintf("-o attr_timeout=%d", attributeSeconds),
		fmt.Sprintf("-o entry_timeout=%d", attributeSeconds),
		fmt.Sprintf("-o negative_timeout=%d", attributeSeconds),
		fmt.Sprintf("--attr-cache-timeout=%d", attributeSeconds),
		"--block-cache",
		fmt.Sprintf("--block-cache-block-size=%d", blockMiB),
		fmt.Sprintf("--block-cache-pool-size=%d", sku.MountPoolMiB),
		fmt.Sprintf("--block-cache-prefetch=%d", prefetchBlocks),
		fmt.Sprintf("--cancel-list-on-mount-seconds=%d", listDelaySeconds),
	}
	if s.HierarchicalNamespace {
		options = append(options, "--use-adls=true")
	}
	return options
}
