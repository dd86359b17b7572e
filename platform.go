package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ray-on-aks/infra"
	"ray-on-aks/internal/strict"
	"ray-on-aks/internal/webhook"
	"ray-on-aks/workloads"

	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Platform names another stack, on whose cluster and queues the workloads of this one run. A stack with it makes no infra and no queues:
// it reads that stack's outputs and talks to its cluster, and needs no rights on Azure.
type Platform struct {
	// Stack is the stack that made the platform: its name, or organization/project/name where the first two are not this stack's own.
	Stack string `json:"stack"`
	// Team is the one team that workloads may be of, and the default of theirs. Default: any of the platform's.
	Team string `json:"team"`

	// Offer is what that stack gives out.
	Offer Offer `json:"-"`
	// Kubeconfig is the way into its cluster; a secret.
	Kubeconfig pulumi.StringOutput `json:"-"`
}

// onPlatform reads the configuration of a stack that takes its platform from another, and what that one gives out.
func onPlatform(ctx *pulumi.Context, get source) (Config, error) {
	cfg := Config{Workloads: workloads.Args{Declared: workloads.Catalog()}}
	errs := decodeParts(get, part{keyWorkloads, &cfg.Workloads.Declared})
	for _, key := range []string{keyLocation, keySubscription, keyInfra, keyProfile, keyQueues} {
		if _, ok := get(key); ok {
			errs = append(errs, fmt.Errorf("%s: is the platform's, which this stack takes from another (%s); take it out here, and change it in that one's file",
				key, keyPlatform))
		}
	}
	err := errors.Join(decodeParts(get, part{keyPlatform, &cfg.Platform})...)
	if err == nil {
		err = cfg.Platform.take(ctx)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return Config{}, err
	}
	cfg.Workloads.Platform, cfg.Workloads.Host = cfg.Platform.Offer.Platform, &cfg.Platform.Offer.Host
	err = cfg.joinTeam()
	return cfg, theirs(errors.Join(err, cfg.Workloads.Validate(), validateDeadlines(cfg.Workloads.Declared, cfg.Platform.Offer.WaitForPodsReady)),
		cfg.Platform.Offer.Host.Stack)
}

// qualified is the stack's full name. Backends do not agree on what a short one means, so it is completed here, from this stack's own.
func (p Platform) qualified(self string) (string, error) {
	const path = keyPlatform + ".stack"
	parts, own := strings.Split(p.Stack, "/"), strings.Split(self, "/")
	switch {
	case p.Stack == "":
		return "", fmt.Errorf("%s: must name the stack that made the platform, for example prod-eastus2", path)
	case (len(parts) != 1 && len(parts) != len(own)) || slices.Contains(parts, ""):
		return "", fmt.Errorf("%s: must be a stack's name or organization/project/name, got %q", path, p.Stack)
	case len(parts) == 1:
		parts = append(own[:len(own)-1], parts...)
	}
	full := strings.Join(parts, "/")
	if full == self {
		return "", fmt.Errorf("%s: must be another stack than this one, %s; a stack with a platform of its own has no key %s", path, self, keyPlatform)
	}
	return full, nil
}

// take reads the stack's outputs. At preview, too, they are those of its last update.
func (p *Platform) take(ctx *pulumi.Context) error {
	const path = keyPlatform + ".stack"
	full, err := p.qualified(strings.Join([]string{ctx.Organization(), ctx.Project(), ctx.Stack()}, "/"))
	if err != nil {
		return err
	}
	// Where there is no such stack it is the engine that says so, of the reference by its name: that is the path, too.
	stack, err := pulumi.NewStackReference(ctx, path, &pulumi.StackReferenceArgs{Name: pulumi.String(full)})
	if err != nil {
		return fmt.Errorf("%s: referring to %s: %w", path, full, err)
	}
	outputs := map[string]*pulumi.StackReferenceOutputDetails{}
	for _, name := range []string{"clusterName", "kubeconfig", "platform", "runs"} {
		if outputs[name], err = stack.GetOutputDetails(name); err != nil {
			return fmt.Errorf("%s: reading the outputs of %s: %w", path, full, err)
		}
	}
	if outputs["platform"].Value == nil {
		return fmt.Errorf("%s: %s gives out no platform: %s", path, full, whyNone(outputs["clusterName"].Value != nil, outputs["runs"].Value != nil))
	}
	if p.Offer, err = parseOffer(full, outputs["platform"].Value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// The engine answers an empty object for a secret that it has no key for.
	if _, ok := outputs["kubeconfig"].SecretValue.(string); !ok {
		return fmt.Errorf("%s: %s gives out no kubeconfig that can be read here; the key of that stack's secrets is needed, such as its PULUMI_CONFIG_PASSPHRASE",
			path, full)
	}
	p.Kubeconfig = pulumi.ToSecret(stack.GetStringOutput(pulumi.String("kubeconfig"))).(pulumi.StringOutput)
	return nil
}

// whyNone says why a stack has no output `platform`, by the other outputs that it has.
func whyNone(cluster, runs bool) string {
	switch {
	case cluster:
		return "it was last updated by an older release; run pulumi up there with this one first"
	case runs:
		return "it takes its own from another stack; name that one"
	default:
		return "it is not up, or no stack of ray-on-aks; run pulumi up there first, or name another"
	}
}

// joinTeam leaves the workloads the one team that the stack is for, if it is for one.
func (c *Config) joinTeam() error {
	only := c.Platform.Team
	if only == "" {
		return nil
	}
	var names []string
	for _, t := range c.Workloads.Tenants {
		names = append(names, t.Name)
	}
	if !slices.Contains(names, only) {
		return fmt.Errorf("%s.team: %w", keyPlatform, strict.Unknown("team", only, names))
	}
	c.Workloads.Tenants = slices.DeleteFunc(slices.Clone(c.Workloads.Tenants), func(t workloads.Tenant) bool { return t.Name != only })
	// The other teams are refused here, with the reason.
	c.Workloads.Refused = strict.Without(names, []string{only})
	var errs []error
	for _, name := range c.Workloads.Declared.Names() {
		if w := c.Workloads.Declared[name]; w.Enabled && slices.Contains(c.Workloads.Refused, w.Team) {
			errs = append(errs, fmt.Errorf("workloads.%s.team: must be %s, which this stack is for (%s.team), or left out, got %s", name, only, keyPlatform, w.Team))
		}
	}
	return errors.Join(errs...)
}

// theirKey finds keys that a stack without a platform of its own does not have.
var theirKey = regexp.MustCompile(`\b(infra|queues)\.[a-zA-Z<]`)

// theirs says, in each message with such a key, whose file has it.
func theirs(err error, stack string) error {
	if err == nil {
		return nil
	}
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if theirKey.MatchString(line) {
			line += fmt.Sprintf(" (infra and queues are keys of stack %s)", stack)
		}
		errs = append(errs, errors.New(line))
	}
	return errors.Join(errs...)
}

// buildOnPlatform creates the workloads on another stack's cluster, and returns the outputs. Nothing here can go with that cluster, or
// come after what is in it: both are in the other's state.
func buildOnPlatform(ctx *pulumi.Context, cfg Config) (pulumi.Map, error) {
	randomProvider, err := random.NewProvider(ctx, "random", nil)
	if err != nil {
		return nil, err
	}
	cluster, err := infra.Connect(ctx, keyPlatform+"-kubernetes", cfg.Platform.Kubeconfig, cfg.Platform.Offer.Cluster)
	if err != nil {
		return nil, err
	}
	bridge, err := webhook.Bridge(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Workloads.InCluster = []pulumi.ResourceOption{bridge}
	what, err := workloads.New(ctx, "workloads", cfg.Workloads, pulumi.Providers(cluster, randomProvider))
	if err != nil {
		return nil, err
	}
	all := workloadOutputs(cfg.Workloads, pulumi.String(cfg.Platform.Offer.StorageAccount), what)
	all["kubeconfig"] = cfg.Platform.Kubeconfig
	return all, nil
}
