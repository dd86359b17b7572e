package workloads

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"ray-on-aks/internal/aks"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// entrypoints are the programs that Ray runs; their tests lie outside the pattern.
//
//go:embed entrypoints/*.py
var entrypoints embed.FS

// scriptsPath is where a run finds its scripts.
const scriptsPath = "/opt/ray-on-aks/scripts"

// Scripts lists the programs that a workload may name.
func Scripts() []string {
	files, err := entrypoints.ReadDir("entrypoints")
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	slices.Sort(names)
	return names
}

// scriptsOf returns the files that w needs, by name. Each run has its own copy: were they shared, a change to one program would take away
// the file that a running job of another still starts its retries from.
func scriptsOf(w Workload) (map[string]string, error) {
	if w.Script == "" {
		return nil, nil
	}
	data, err := entrypoints.ReadFile(path.Join("entrypoints", w.Script))
	if err != nil {
		return nil, fmt.Errorf("there is no program %q, only %s", w.Script, strings.Join(Scripts(), ", "))
	}
	return map[string]string{w.Script: string(data)}, nil
}

// newScripts makes the immutable ConfigMap of a run. Its name carries the hash of its content, so it is never updated.
func (c *Workloads) newScripts(ctx *pulumi.Context, run Run, files map[string]string, opts []pulumi.ResourceOption) (pulumi.Resource, error) {
	return corev1.NewConfigMap(ctx, c.name+"-"+run.ScriptsName, &corev1.ConfigMapArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name:      pulumi.String(run.ScriptsName),
			Namespace: pulumi.String(c.args.Namespace),
			Labels: pulumi.StringMap{
				aks.LabelName:      pulumi.String(run.Workload),
				aks.LabelManagedBy: pulumi.String(aks.ManagedBy),
			},
		},
		Immutable: pulumi.Bool(true),
		Data:      pulumi.ToStringMap(files),
	}, opts...)
}
