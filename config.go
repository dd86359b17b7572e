package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"ray-on-aks/infra"
	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/strict"
	"ray-on-aks/queues"
	"ray-on-aks/workloads"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Config is a stack's whole configuration: the components' own arguments, decoded onto the profile's defaults. It is read here and
// nowhere else.
type Config struct {
	// Platform is the stack that made cluster and queues, where that is another one: key ray-on-aks:platform. Infra and Queues are empty
	// then.
	Platform Platform
	// Infra is where the workloads run: key ray-on-aks:infra.
	Infra infra.Args
	// Queues is who may use it: key ray-on-aks:queues.
	Queues queues.Args
	// Workloads is what runs: key ray-on-aks:workloads.
	Workloads workloads.Args
}

// The keys of a stack file that this program reads.
const (
	keyProfile      = "profile"
	keyPlatform     = "platform"
	keyInfra        = "infra"
	keyQueues       = "queues"
	keyWorkloads    = "workloads"
	keyLocation     = "azure-native:location"
	keySubscription = "azure-native:subscriptionId"
)

// source is where the keys come from: Pulumi's config, or a map in tests. Keys of this project carry no prefix.
type source func(key string) (string, bool)

// loadConfig reads and checks the stack's configuration; every mistake in it is in the error.
func loadConfig(ctx *pulumi.Context) (Config, error) {
	// The SDK answers for a key but lists none, and a misspelt ray-on-aks:queues would never be asked for. The language host passes the
	// whole map in the environment.
	unknown := checkKeys(ctx.Project(), os.Getenv(pulumi.EnvConfig))
	get := func(key string) (string, bool) {
		value, err := config.Try(ctx, key)
		return value, err == nil
	}
	if _, ok := get(keyPlatform); ok {
		cfg, err := onPlatform(ctx, get)
		return cfg, errors.Join(unknown, err)
	}
	cfg, err := parse(ctx.Stack(), get)
	return cfg, errors.Join(unknown, err)
}

// checkKeys refuses keys of this project that nothing reads.
func checkKeys(project, configMap string) error {
	if configMap == "" {
		return fmt.Errorf("%s: is empty, so misspelt keys cannot be found; the language host sets it", pulumi.EnvConfig)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(configMap), &all); err != nil {
		return fmt.Errorf("reading the config's keys: %w", err)
	}
	known := []string{keyInfra, keyPlatform, keyProfile, keyQueues, keyWorkloads}
	written := func(key string) string { return project + ":" + key }
	var errs []error
	for _, full := range slices.Sorted(maps.Keys(all)) {
		key, ours := strings.CutPrefix(full, project+":")
		if !ours || slices.Contains(known, key) {
			continue
		}
		err := strict.CheckKey(project, key)
		if err == nil {
			err = fmt.Errorf("%s: unknown key%s", full, strict.HintAs(key, known, written))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// parse decodes the keys onto the profile's defaults, joins the parts, and validates the whole.
func parse(stack string, get source) (Config, error) {
	profile, err := parseProfile(get)
	if err != nil {
		return Config{}, err
	}
	cfg := profile.defaults(stack)
	cfg.Infra.Location, _ = get(keyLocation)
	cfg.Infra.SubscriptionID, _ = get(keySubscription)
	errs := decodeParts(get, part{keyInfra, &cfg.Infra}, part{keyQueues, &cfg.Queues}, part{keyWorkloads, &cfg.Workloads.Declared})
	if err := errors.Join(errs...); err != nil {
		// Values of what was not decoded would be reported as if the user had written them.
		return Config{}, err
	}
	cfg.join()
	return cfg, cfg.Validate()
}

// part is a key with an object, and what that is decoded onto.
type part struct {
	key    string
	target any
}

// decodeParts decodes those that the stack has.
func decodeParts(get source, parts ...part) []error {
	var errs []error
	for _, p := range parts {
		if value, ok := get(p.key); ok {
			errs = append(errs, strict.Decode(p.key, []byte(value), p.target))
		}
	}
	return errs
}

func parseProfile(get source) (Profile, error) {
	value, ok := get(keyProfile)
	if !ok {
		return "", fmt.Errorf("%s: must be set to %s or %s", keyProfile, ProfileDev, ProfileProd)
	}
	if p := Profile(value); p == ProfileDev || p == ProfileProd {
		return p, nil
	}
	return "", fmt.Errorf("%s: must be %s or %s, got %q", keyProfile, ProfileDev, ProfileProd, value)
}

// join tells each part what it has to know of the others. All of it is plain, so that it can be checked at preview.
func (c *Config) join() {
	for _, t := range c.Queues.Tenants() {
		key := "queues.namespace"
		if len(c.Queues.Teams) > 0 {
			key = "queues.teams." + t.Name + ".namespace"
		}
		c.Infra.Tenants = append(c.Infra.Tenants, infra.Tenant{Name: t.Name, Namespace: t.Namespace, Key: key})
	}
	c.Workloads.CPUPool = infra.CPUPool
	c.Workloads.Sizes = c.Infra.Sizes()
	c.Workloads.ServiceAccount = c.Infra.ServiceAccount
	c.Workloads.Containers = c.Infra.Storage.Containers
	c.Workloads.Priorities = slices.Sorted(maps.Keys(c.Queues.Priorities))
	c.Queues.RefusedPools = c.Infra.Refused()
	c.Workloads.Refused = slices.Concat(c.Infra.Refused(), c.Queues.Refused())
	c.joinPools()
	for _, t := range c.Queues.Tenants() {
		c.Workloads.Tenants = append(c.Workloads.Tenants, workloads.Tenant{
			Name: t.Name, Namespace: t.Namespace, Queue: workloads.Queue{Name: t.LocalQueue, Flavors: c.flavors(t)},
		})
	}
}

// openPool stands for a pool of which infra refuses something: it has room for all, so that what follows from the mistake is not reported
// as well.
var openPool = workloads.Pool{Nodes: sku.MaxNodes, Node: sku.Resources{MilliCPU: 1 << 40, MemoryMiB: 1 << 40, GPUs: 1 << 20}}

// joinPools tells the workloads of all pools, and the queues of those that they may hand out: what services hold is taken off.
func (c *Config) joinPools() {
	for _, name := range c.Infra.Pools.Names() {
		pool := openPool
		if size, ok := c.Infra.Node(name); ok {
			pool = workloads.Pool{Nodes: c.Infra.Pools[name].Max, Node: size.Allocatable(), Tainted: size.GPUs > 0}
		}
		pool.Name, pool.Serving = name, c.Infra.Serves(name)
		c.Workloads.Pools = append(c.Workloads.Pools, pool)
	}
	reserved := c.Workloads.Reserved()
	for _, pool := range c.Workloads.Pools {
		if pool.Serving {
			continue
		}
		queued := queues.Pool{Name: pool.Name, Nodes: pool.Nodes, Node: pool.Node, Reserved: reserved[pool.Name]}
		if pool.Tainted {
			queued.Taints = []corev1.Taint{aks.TaintGPU()}
		}
		c.Queues.Pools = append(c.Queues.Pools, queued)
	}
}

// flavors are the kinds of nodes behind a tenant's queue, in the order in which Kueue tries them.
func (c *Config) flavors(t queues.Tenant) []workloads.Flavor {
	var fs []workloads.Flavor
	for _, p := range c.Queues.Ordered() {
		fs = append(fs, workloads.Flavor{Name: p.Name, Node: p.Node, Limit: c.Queues.Ever(t, p), LimitedBy: c.Queues.Limits(t, p), Tainted: len(p.Taints) > 0})
	}
	return fs
}

// Warnings say what works but may surprise.
func (c Config) Warnings() []string { return slices.Concat(c.Infra.Warnings(), c.Workloads.Warnings()) }

// Validate checks each part, and what only holds between parts.
func (c Config) Validate() error {
	return errors.Join(c.Infra.Validate(), c.Queues.Validate(), c.Workloads.Validate(),
		validateDeadlines(c.Workloads.Declared, c.Infra.Operators.Kueue.WaitForPodsReady))
}

// validateDeadlines keeps KubeRay from failing a run for good while Kueue would still put it back into the queue. Where nothing but defaults
// are too short, it is Kueue's wait that was set too long, for all of them. What is no deadline is reported by itself.
func validateDeadlines(declared workloads.Declared, waitForPodsReady metav1.Duration) error {
	var errs []error
	var defaults []string
	const path = "infra.operators.kueue.waitForPodsReady"
	wait, usual := waitForPodsReady.Duration, workloads.Defaults().PreRunningDeadline.Duration
	for _, name := range declared.Names() {
		w := declared[name]
		switch d := w.PreRunningDeadline.Duration; {
		case !w.Enabled || w.Kind != workloads.KindRayJob || d < time.Second || d > wait:
		case d == usual:
			defaults = append(defaults, "workloads."+name+".preRunningDeadline")
		default:
			errs = append(errs, fmt.Errorf("workloads.%s.preRunningDeadline: must be longer than %s (%s), got %s", name, path, wait, d))
		}
	}
	if len(defaults) > 0 {
		errs = append(errs, fmt.Errorf("%s: must be shorter than %s (%s), got %s; %s would do", path, strict.List(defaults), usual, wait, usual-time.Minute))
	}
	return errors.Join(errs...)
}
