package infra

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ray-on-aks/internal/strict"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// What can be protected, as allowReplace names it; a pool is protectPool and its name.
const (
	protectCluster = "cluster"
	protectStorage = "storage"
	protectPool    = "pools."
)

// protects says whether Pulumi is to refuse to delete or replace what is named. Pools go with their cluster, so they are let go with it.
func (a Args) protects(name string) bool {
	allowed := slices.Contains(a.AllowReplace, name) ||
		strings.HasPrefix(name, protectPool) && slices.Contains(a.AllowReplace, protectCluster)
	return a.Protect && !allowed
}

func (a Args) validateAllowReplace(path string) error {
	known, pools := []string{protectCluster}, strict.Without(a.Pools.Names(), a.Refused())
	for _, name := range pools {
		known = append(known, protectPool+name)
	}
	known = append(known, protectStorage)
	left := strict.Without(known, a.AllowReplace)
	return errors.Join(strict.Each(path, a.AllowReplace, func(at, name string) error {
		pool, isPool := strings.CutPrefix(name, protectPool)
		if slices.Contains(known, name) || isPool && strict.Same(pool, a.Refused()) {
			return nil
		}
		hint := strict.Hint(name, left)
		if slices.Contains(pools, name) && !slices.Contains(a.AllowReplace, protectPool+name) {
			hint = "; did you mean " + protectPool + name + "?"
		}
		if isPool {
			hint = ""
			if near := strict.Nearest(pool, pools); near != "" {
				hint = "; did you mean " + protectPool + near + "?"
			}
			// The state holds the protection of a pool until an `up` that names it.
			hint += "; to take a pool out, name it here in one `up` while infra.pools has it, and then take both out"
		}
		return fmt.Errorf("%s: %q names nothing that is protected%s", at, name, hint)
	})...)
}

// GuardType is the token of the guard.
const GuardType = "ray-on-aks:index:Guard"

// guard stands before everything else when a stack is destroyed.
type guard struct{ pulumi.ResourceState }

// Everything answers, when it is called, the custom resources that were registered since. A dependency on a component would not do: which
// children it stands for is looked up while the last of them may not have told it of themselves.
func Everything(ctx *pulumi.Context) (registered func() []pulumi.Resource, err error) {
	var all []pulumi.Resource
	err = ctx.RegisterStackTransformation(func(args *pulumi.ResourceTransformationArgs) *pulumi.ResourceTransformationResult {
		if r, ok := args.Resource.(pulumi.CustomResource); ok {
			all = append(all, r)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("recording what is registered: %w", err)
	}
	return func() []pulumi.Resource { return slices.Clone(all) }, nil
}

// Guard registers what comes after all of the stack, and so is the first that a `pulumi destroy` deletes. While the cluster is protected, so is
// the guard, and the destroy ends before it has begun. Without it a destroy that skips its preview, as Pulumi's Automation API does, would
// delete the identities and forget the objects in the cluster, which are deleted with it, before it came to the cluster and was refused.
// While the cluster is not protected the guard comes after nothing: protection is taken off also by an update that fails later on.
func (c *Infra) Guard(ctx *pulumi.Context, all []pulumi.Resource) error {
	g, protected := &guard{}, c.args.protects(protectCluster)
	opts := []pulumi.ResourceOption{pulumi.Protect(protected)}
	if protected {
		opts = append(opts, pulumi.DependsOn(all))
	}
	if err := ctx.RegisterComponentResource(GuardType, c.name+"-guard", g, opts...); err != nil {
		return fmt.Errorf("registering the guard: %w", err)
	}
	return ctx.RegisterResourceOutputs(g, pulumi.Map{})
}
