package workloads

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxName is the longest name of a RayJob or RayService from which KubeRay can derive the names of its cluster, services and pods.
const maxName = 47

// hashLength is how much of the hash goes into a name: 32 bits, among the few runs of one workload.
const hashLength = 8

// maxBaseName leaves room for the hyphen and the hash.
const maxBaseName = maxName - hashLength - 1

// notIdentity are the fields that do not make another run: whether it exists at all, and what happens to it when it is replaced.
var notIdentity = []string{"enabled", "keep"}

// notResult are the fields that may differ between runs that compute the same thing, beside notIdentity: who pays, when and where it
// runs, and how large its pods are. Checkpoints and outputs of such runs lie in the same place, so that a run with a longer deadline or
// more memory goes on where the last one stopped. The number of GPUs is not among them: like the number of workers it decides how data
// is divided and in which order gradients are added up.
var notResult = []string{"team", "priority", "pool", "retries", "activeDeadline", "preRunningDeadline", "worker.cpus", "worker.memory", "head", "routePrefix"}

// Run is one run of a workload, or a service. All of it is derived from plain values, so it is known at preview of an empty stack.
type Run struct {
	// Workload is the workload's name in config.
	Workload string
	// Kind is what it is in the cluster.
	Kind Kind
	// Tenant is whose it is, and Namespace where.
	Tenant, Namespace string
	// Name is the object's name and part of the Pulumi name: a new run is a create and the old one a delete. A service's is the
	// workload's, since clients know it by that.
	Name string
	// ID names what is computed: checkpoints and outputs lie under it.
	ID string
	// Output is where the results of all runs go, <container>/<prefix>; those of this one are in the folder ID below it. Empty where the
	// workload has no output.
	Output string
	// ScriptsName is the name of the ConfigMap with the scripts; empty where there are none.
	ScriptsName string
	// RoutePrefix is the path under which a service answers.
	RoutePrefix string

	// scripts are the files of that ConfigMap, by path.
	scripts map[string]string
}

// URL is where a service answers inside the cluster; empty for a job.
func (r Run) URL() string {
	if r.Kind != KindRayService {
		return ""
	}
	return fmt.Sprintf("http://%s.%s.svc:%d%s", rayutils.GenerateServeServiceName(r.Name), r.Namespace, rayutils.DefaultServingPort, r.RoutePrefix)
}

// run derives the run of a resolved workload.
func (a Args) run(name string, w Workload) (Run, error) {
	scripts, err := a.filesOf(w)
	if err != nil {
		return Run{}, err
	}
	tenant, _ := a.tenant(w.Team)
	run, err := newRun(name, w, bound{Queue: tenant.Queue.Name, ServiceAccount: a.ServiceAccount}, scripts)
	run.Tenant, run.Namespace = tenant.Name, tenant.Namespace
	return run, err
}

// bound is what a run is bound to for as long as it is there, beside what its workload says: Kueue lets no run that was admitted change its
// queue, and the spec of a run that is there names its service account.
type bound struct {
	Queue          string `json:"queue,omitempty"`
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// newRun derives a run's identity from its intent: the config, what it is bound to, and the bytes of the files that it brings along. It
// never looks at the rendered object, or an upgrade of this program would run every job again.
func newRun(name string, w Workload, to bound, scripts map[string]string) (Run, error) {
	identity, err := intentHash(w, to, scripts, notIdentity)
	if err != nil {
		return Run{}, err
	}
	result, err := intentHash(w, bound{}, scripts, slices.Concat(notIdentity, notResult))
	if err != nil {
		return Run{}, err
	}
	run := Run{Workload: name, Kind: w.Kind, Name: name + "-" + identity, ID: name + "-" + result, Output: w.Output, RoutePrefix: w.RoutePrefix, scripts: scripts}
	if w.Kind == KindRayService {
		run.Name = name
	}
	if len(scripts) > 0 {
		run.ScriptsName = name + "-scripts-" + contentHash(scripts)
	}
	return run, nil
}

// intentHash hashes the fields of w by their config keys. Fields without a value are left out, so that a field which a later release adds
// does not change the hash of workloads that do not use it; and what means the same is written in one way.
func intentHash(w Workload, to bound, scripts map[string]string, without []string) (string, error) {
	w.Worker.Size, w.Head, w.Entrypoint = w.Worker.canonical(), w.Head.canonical(), strings.TrimSpace(w.Entrypoint)
	fields := map[string]any{}
	for _, part := range []any{w, to} {
		data, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(data, &fields); err != nil {
			return "", err
		}
	}
	for _, key := range without {
		drop(fields, key)
	}
	dropZero(fields)
	// The order of the mounts means nothing.
	if len(w.Storage) > 0 && fields["storage"] != nil {
		fields["storage"] = slices.Sorted(slices.Values(w.Storage))
	}
	if len(scripts) > 0 {
		fields["scriptBytes"] = contentHash(scripts)
	}
	return hash(fields)
}

// canonical writes cores as a decimal and memory as a binary number, as most do: 4294967296 is 4Gi.
func (s Size) canonical() Size {
	return Size{
		CPUs:   *resource.NewDecimalQuantity(*s.CPUs.AsDec(), resource.DecimalSI),
		Memory: *resource.NewDecimalQuantity(*s.Memory.AsDec(), resource.BinarySI),
	}
}

// drop removes the field of that key, which may be one of a nested object: worker.cpus.
func drop(fields map[string]any, key string) {
	outer, inner, nested := strings.Cut(key, ".")
	if object, ok := fields[outer].(map[string]any); nested && ok {
		drop(object, inner)
		return
	}
	delete(fields, key)
}

// dropZero removes fields without a value, those of nested objects too. Variables are the user's own keys, where empty is a value.
func dropZero(fields map[string]any) {
	maps.DeleteFunc(fields, func(key string, v any) bool {
		switch v := v.(type) {
		case map[string]any:
			if key != "env" {
				dropZero(v)
			}
			return len(v) == 0
		case []any:
			return len(v) == 0
		}
		return v == nil || v == "" || v == 0.0 || v == false
	})
}

func contentHash(files map[string]string) string {
	// A map of strings always encodes.
	h, _ := hash(files)
	return h
}

// hash encodes as JSON, which orders keys.
func hash(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashLength], nil
}
