// Package workloads answers what runs: it turns declared workloads into RayJobs that wait in a queue and RayServices that answer requests.
package workloads

import (
	"fmt"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"
	"ray-on-aks/internal/strict"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi-random/sdk/v4/go/random"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
)

// Type is the component's token. Changing it without an alias runs every job again.
const Type = "ray-on-aks:index:Workloads"

// tokenLength is the number of letters and digits of a service's token: more than 256 bits.
const tokenLength = 48

// Workloads is the component. Its providers, for Kubernetes and for random values, are the caller's.
type Workloads struct {
	pulumi.ResourceState

	// Runs are the current runs and services, ordered by workload.
	Runs []Run
	// Tokens are what clients of a service have to show, by workload; they are secrets.
	Tokens pulumi.StringMap

	name string
	args Args
}

// New creates the component. The caller passes the cluster's provider and that for random values by pulumi.Providers.
func New(ctx *pulumi.Context, name string, args Args, opts ...pulumi.ResourceOption) (*Workloads, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	runs, err := args.Runs()
	if err != nil {
		return nil, err
	}
	c := &Workloads{Runs: runs, Tokens: pulumi.StringMap{}, name: name, args: args}
	if err := ctx.RegisterComponentResource(Type, name, c, opts...); err != nil {
		return nil, fmt.Errorf("registering %s: %w", name, err)
	}
	names := pulumi.StringArray{}
	for _, run := range runs {
		if err := c.newRun(ctx, run); err != nil {
			return nil, fmt.Errorf("creating workload %s: %w", run.Workload, err)
		}
		names = append(names, pulumi.String(run.Name))
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"runs": names, "tokens": c.Tokens})
}

// Runs derives the runs of the enabled workloads, in the order of their names.
func (a Args) Runs() ([]Run, error) {
	var runs []Run
	for _, name := range a.Declared.enabled() {
		run, err := a.run(name, a.resolved(a.Declared[name]))
		if err != nil {
			return nil, fmt.Errorf("workloads.%s: %w", name, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// Render returns the object that is created for the workload of that name, whether it is enabled or not.
func (a Args) Render(name string) (crd.Object, error) {
	declared, ok := a.Declared[name]
	if !ok {
		return crd.Object{}, strict.Unknown("workload", name, a.Declared.Names())
	}
	w := a.resolved(declared)
	run, err := a.run(name, w)
	if err != nil {
		return crd.Object{}, fmt.Errorf("workloads.%s: %w", name, err)
	}
	return a.object(run, w)
}

// object builds what a run is in the cluster.
func (a Args) object(run Run, w Workload) (crd.Object, error) {
	if w.Kind == KindRayService {
		return a.rayService(run, w)
	}
	return a.rayJob(run, w), nil
}

// newRun creates a run with all that is its own.
func (c *Workloads) newRun(ctx *pulumi.Context, run Run) error {
	w := c.args.resolved(c.args.Declared[run.Workload])
	opts := append([]pulumi.ResourceOption{pulumi.Parent(c)}, c.args.InCluster...)
	if w.Keep {
		opts = append(opts, pulumi.RetainOnDelete(true))
	}
	var before []pulumi.Resource
	if run.ScriptsName != "" {
		scripts, err := c.newScripts(ctx, run, opts)
		if err != nil {
			return fmt.Errorf("creating the scripts: %w", err)
		}
		before = append(before, scripts)
	}
	if run.Kind == KindRayService {
		token, err := c.newToken(ctx, run, opts)
		if err != nil {
			return fmt.Errorf("creating the token: %w", err)
		}
		before = append(before, token)
	}
	object, err := c.args.object(run, w)
	if err != nil {
		return err
	}
	opts = append(opts, pulumi.DependsOn(before))
	_, err = crd.New(ctx, c.name+"-"+run.Name, object, append(opts, c.changes(w)...)...)
	return err
}

// changes chooses what happens when the object in the cluster differs from the one that is declared.
func (c *Workloads) changes(w Workload) []pulumi.ResourceOption {
	switch {
	case w.Kind == KindRayJob:
		// A run is immutable. Kueue and KubeRay write into its spec (suspend, node selectors, defaults), and none of that is a reason to
		// touch a job that is running; what the user changes changes the name.
		return []pulumi.ResourceOption{pulumi.IgnoreChanges([]string{"spec"})}
	case c.args.upgrade(w) == rayv1.RayServiceUpgradeNone:
		return []pulumi.ResourceOption{pulumi.ReplaceOnChanges([]string{"spec.rayClusterConfig"}), pulumi.DeleteBeforeReplace(true)}
	default:
		return nil
	}
}

// newScripts makes the immutable ConfigMap of a run. Its name carries the hash of its content, so it is never updated.
func (c *Workloads) newScripts(ctx *pulumi.Context, run Run, opts []pulumi.ResourceOption) (pulumi.Resource, error) {
	data := pulumi.StringMap{}
	for file, text := range run.scripts {
		data[scriptKey(file)] = pulumi.String(text)
	}
	return corev1.NewConfigMap(ctx, c.name+"-"+run.ScriptsName, &corev1.ConfigMapArgs{
		Metadata:  metadata(run, run.ScriptsName),
		Immutable: pulumi.Bool(true),
		Data:      data,
	}, opts...)
}

// newToken makes the Secret with the token of a service. The token is made once and kept in the state.
func (c *Workloads) newToken(ctx *pulumi.Context, run Run, opts []pulumi.ResourceOption) (pulumi.Resource, error) {
	token, err := random.NewRandomPassword(ctx, c.name+"-"+tokenName(run), &random.RandomPasswordArgs{
		Length: pulumi.Int(tokenLength), Special: pulumi.Bool(false),
	}, pulumi.Parent(c))
	if err != nil {
		return nil, err
	}
	c.Tokens[run.Workload] = token.Result
	return corev1.NewSecret(ctx, c.name+"-"+tokenName(run), &corev1.SecretArgs{
		Metadata:   metadata(run, tokenName(run)),
		StringData: pulumi.StringMap{tokenKey: token.Result},
	}, opts...)
}

func metadata(run Run, name string) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{
		Name:      pulumi.String(name),
		Namespace: pulumi.String(run.Namespace),
		Labels: pulumi.StringMap{
			aks.LabelName:      pulumi.String(run.Workload),
			aks.LabelManagedBy: pulumi.String(aks.ManagedBy),
		},
	}
}
