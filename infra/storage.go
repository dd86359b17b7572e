package infra

import (
	"fmt"

	"github.com/pulumi/pulumi-azure-native-sdk/storage/v2"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// accountSuffixLength makes the account's name unique in all of Azure.
	accountSuffixLength = 8
	// softDeleteDays is how long a deleted blob or container can be brought back.
	softDeleteDays = 7
)

func (c *Infra) newStorage(ctx *pulumi.Context) error {
	suffix, err := random.NewRandomString(ctx, c.name+"-storage-suffix", &random.RandomStringArgs{
		Length:  pulumi.Int(accountSuffixLength),
		Special: pulumi.Bool(false),
		Upper:   pulumi.Bool(false),
	}, pulumi.Parent(c))
	if err != nil {
		return err
	}
	account, err := c.newAccount(ctx, pulumi.Sprintf("%s%s", c.args.Storage.AccountPrefix, suffix.Result))
	if err != nil {
		return err
	}
	c.account, c.StorageAccount = account, account.Name
	if err := c.newRetention(ctx); err != nil {
		return fmt.Errorf("setting the retention: %w", err)
	}
	return c.newContainers(ctx)
}

func (c *Infra) newAccount(ctx *pulumi.Context, name pulumi.StringOutput) (*storage.StorageAccount, error) {
	s := c.args.Storage
	return storage.NewStorageAccount(ctx, c.name+"-storage", &storage.StorageAccountArgs{
		AccountName:            name,
		ResourceGroupName:      c.group.Name,
		Location:               pulumi.String(c.args.Location),
		Tags:                   c.tags(),
		Kind:                   pulumi.String(storage.KindStorageV2),
		Sku:                    storage.SkuArgs{Name: pulumi.String(s.SKU)},
		AccessTier:             storage.AccessTierHot,
		IsHnsEnabled:           pulumi.Bool(s.HierarchicalNamespace),
		MinimumTlsVersion:      pulumi.String(storage.MinimumTlsVersion_TLS1_2),
		EnableHttpsTrafficOnly: pulumi.Bool(true),
		AllowBlobPublicAccess:  pulumi.Bool(false),
		// Pods come by workload identity and people by Entra; a key could do everything and be copied anywhere.
		AllowSharedKeyAccess: pulumi.Bool(false),
	}, pulumi.Parent(c), pulumi.Protect(c.args.protects(protectStorage)))
}

func (c *Infra) newRetention(ctx *pulumi.Context) error {
	retention := storage.DeleteRetentionPolicyArgs{Enabled: pulumi.Bool(true), Days: pulumi.Int(softDeleteDays)}
	_, err := storage.NewBlobServiceProperties(ctx, c.name+"-storage-retention", &storage.BlobServicePropertiesArgs{
		AccountName:                    c.account.Name,
		ResourceGroupName:              c.group.Name,
		BlobServicesName:               pulumi.String("default"),
		DeleteRetentionPolicy:          retention,
		ContainerDeleteRetentionPolicy: retention,
	}, pulumi.Parent(c), goesWith(c.account), pulumi.Protect(c.args.protects(protectStorage)))
	return err
}

func (c *Infra) newContainers(ctx *pulumi.Context) error {
	for _, name := range c.args.Storage.Containers {
		_, err := storage.NewBlobContainer(ctx, c.name+"-container-"+name, &storage.BlobContainerArgs{
			AccountName:       c.account.Name,
			ResourceGroupName: c.group.Name,
			ContainerName:     pulumi.String(name),
			PublicAccess:      storage.PublicAccessNone,
		}, pulumi.Parent(c), pulumi.Protect(c.args.protects(protectStorage)))
		if err != nil {
			return fmt.Errorf("creating the container %s: %w", name, err)
		}
	}
	return nil
}
