package infra

import (
	"fmt"
	"path/filepath"

	"ray-on-aks/infra/crdchart"
	"ray-on-aks/internal/gomodule"
)

const (
	// kubeRayModule holds KubeRay's CRDs beside the types that this program uses, in the version that go.mod pins.
	kubeRayModule      = "github.com/ray-project/kuberay/ray-operator"
	kubeRayModuleCRDs  = "config/crd/bases"
	kubeRayCRDsRelease = "kuberay-crds"
	kubeRayChartKey    = "infra.operators.kuberay.chart"
)

// crdSource is where an operator's CRDs come from.
type crdSource string

const (
	// crdsOfModule are the pinned version's, in the module that this program is built from.
	crdsOfModule crdSource = "module"
	// crdsOfFolder are in crds/ of the chart that config names.
	crdsOfFolder crdSource = "folder"
	// crdsOfChart are not at hand: the chart brings its own, in crds/ or among its templates.
	crdsOfChart crdSource = "chart"
)

// kubeRayCRDSource says where the CRDs come from that belong to the KubeRay which is installed. Kueue's are among the templates of its chart, and
// so need no such care.
func (a Args) kubeRayCRDSource() crdSource {
	chart := a.Operators.KubeRay.or(a.Versions.KubeRay)
	switch {
	case !isFolder(chart.Location) && chart.Version == a.Versions.KubeRay.Version:
		return crdsOfModule
	case isFolder(chart.Location) && crdchart.Has(filepath.Join(chart.Location, crdchart.Folder)):
		return crdsOfFolder
	}
	return crdsOfChart
}

// kubeRayCRDs packs KubeRay's CRDs and returns their release; nil where the chart brings them.
func (a Args) kubeRayCRDs() (*helmRelease, error) {
	var folder, version string
	switch a.kubeRayCRDSource() {
	case crdsOfChart:
		return nil, nil
	case crdsOfModule:
		module, err := gomodule.Dir(kubeRayModule)
		if err != nil {
			return nil, fmt.Errorf("KubeRay's CRDs are read from the module that this program is built from: %w", err)
		}
		folder, version = filepath.Join(module, filepath.FromSlash(kubeRayModuleCRDs)), a.Versions.KubeRay.Version
	case crdsOfFolder:
		chart := a.Operators.KubeRay.Chart
		var err error
		if version, err = crdchart.Version(chart); err != nil {
			return nil, fmt.Errorf("%s: must be a chart with a version, got %s: %w", kubeRayChartKey, chart, err)
		}
		folder = filepath.Join(chart, crdchart.Folder)
	}
	chart, err := crdchart.Pack(a.Charts, kubeRayCRDsRelease, version, folder)
	if err != nil {
		return nil, fmt.Errorf("packing KubeRay's CRDs: %w", err)
	}
	return &helmRelease{
		role: roleKubeRayCRDs, name: kubeRayCRDsRelease, namespace: kubeRayNamespace, namespaceExists: true,
		chart: Chart{Location: filepath.ToSlash(chart), Version: version}, values: map[string]any{},
	}, nil
}
