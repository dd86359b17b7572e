// Package workloads answers what runs: it turns declared workloads into RayJobs that wait in a queue.
package workloads

import (
	"fmt"

	"ray-on-aks/internal/crd"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Type is the component's token. Changing it without an alias runs every job again.
const Type = "ray-on-aks:index:Workloads"

// Workloads is the component. Its Kubernetes provider is the caller's.
type Workloads struct {
	pulumi.ResourceState

	// Runs are the current runs, ordered by workload.
	Runs []Run

	name string
	args Args
}

// New creates the component. The caller passes the cluster's provider by pulumi.Provider.
func New(ctx *pulumi.Context, name string, args Args, opts ...pulumi.ResourceOption) (*Workloads, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	c := &Workloads{name: name, args: args}
	if err := ctx.RegisterComponentResource(Type, name, c, opts...); err != nil {
		return nil, fmt.Errorf("registering %s: %w", name, err)
	}
	names := pulumi.StringArray{}
	for _, workload := range args.Jobs.Names() {
		w := args.resolved(args.Jobs[workload])
		if !w.Enabled {
			continue
		}
		run, err := c.newRayJob(ctx, workload, w)
		if err != nil {
			return nil, fmt.Errorf("creating workload %s: %w", workload, err)
		}
		c.Runs = append(c.Runs, run)
		names = append(names, pulumi.String(run.Name))
	}
	return c, ctx.RegisterResourceOutputs(c, pulumi.Map{"runs": names})
}

// newRayJob creates the run's scripts and the run.
func (c *Workloads) newRayJob(ctx *pulumi.Context, workload string, w Workload) (Run, error) {
	files, err := scriptsOf(w)
	if err != nil {
		return Run{}, err
	}
	run, err := newRun(workload, w, files)
	if err != nil {
		return Run{}, err
	}
	opts := append([]pulumi.ResourceOption{pulumi.Parent(c)}, c.args.InCluster...)
	if w.Keep {
		opts = append(opts, pulumi.RetainOnDelete(true))
	}
	if run.ScriptsName != "" {
		scripts, err := c.newScripts(ctx, run, files, opts)
		if err != nil {
			return Run{}, fmt.Errorf("creating the scripts: %w", err)
		}
		opts = append(opts, pulumi.DependsOn([]pulumi.Resource{scripts}))
	}
	// A run is immutable. Kueue and KubeRay write into its spec (suspend, node selectors, defaults), and none of that is a reason to touch
	// a job that is running; what the user changes changes the name.
	opts = append(opts, pulumi.IgnoreChanges([]string{"spec"}))
	_, err = crd.New(ctx, c.name+"-"+run.Name, c.args.rayJob(run, w), opts...)
	return run, err
}
