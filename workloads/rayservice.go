package workloads

import (
	"fmt"

	"ray-on-aks/internal/crd"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// tokenKey is the key of a service's token in its Secret.
const tokenKey = "token"

// tokenName is the name of the Secret with a service's token.
func tokenName(run Run) string { return run.Name + "-token" }

// rayService builds the object of a service. It has no queue label: Kueue could suspend it only while it is created, and does not count
// the second cluster of an upgrade.
func (a Args) rayService(run Run, w Workload) (crd.Object, error) {
	spec, err := a.rayServiceSpec(run, w)
	return crd.Object{GVK: rayv1.GroupVersion.WithKind(string(KindRayService)), Meta: objectMeta(run), Spec: spec}, err
}

func (a Args) rayServiceSpec(run Run, w Workload) (*rayv1.RayServiceSpec, error) {
	applications, err := serveConfig(run, w)
	if err != nil {
		return nil, err
	}
	return &rayv1.RayServiceSpec{
		ServeConfigV2:   applications,
		UpgradeStrategy: &rayv1.RayServiceUpgradeStrategy{Type: ptr.To(a.upgrade(w))},
		// The head has no CPUs to give, so no replica runs there, and a request would only be passed on.
		ExcludeHeadPodFromServeSvc: true,
		RayClusterSpec:             a.rayCluster(run, w),
	}, nil
}

// serveConfig is the multi-application config of Ray Serve. How many replicas there are and what each needs is the program's to say.
// https://docs.ray.io/en/releases-2.55.1/serve/production-guide/config.html
func serveConfig(run Run, w Workload) (string, error) {
	type application struct {
		Name        string `json:"name"`
		ImportPath  string `json:"import_path"`
		RoutePrefix string `json:"route_prefix"`
		// RuntimeEnv holds for all of its replicas.
		RuntimeEnv *runtimeEnv `json:"runtime_env,omitempty"`
	}
	app := application{Name: run.Workload, ImportPath: servedBy(w), RoutePrefix: w.RoutePrefix, RuntimeEnv: run.runtimeEnv()}
	data, err := yaml.Marshal(map[string][]application{"applications": {app}})
	if err != nil {
		return "", fmt.Errorf("writing the config of %s: %w", run.Workload, err)
	}
	return string(data), nil
}

// upgrade chooses how a change of the cluster's spec comes into force. With NewCluster a second cluster takes over once it serves, which
// needs the room of both and would wait for it for ever. With None KubeRay ignores the change, so New replaces the whole service then.
func (a Args) upgrade(w Workload) rayv1.RayServiceUpgradeType {
	if a.holdsTwice(w) {
		return rayv1.RayServiceNewCluster
	}
	return rayv1.RayServiceUpgradeNone
}
