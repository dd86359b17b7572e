package infra

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ray-on-aks/infra/crdchart"
	"ray-on-aks/internal/gomodule"
)

const (
	// kubeRayModule holds KubeRay's CRDs beside the types that this program uses, in the version that go.mod pins.
	kubeRayModule     = "github.com/ray-project/kuberay/ray-operator"
	kubeRayModuleCRDs = "config/crd/bases"
	// chartCRDs is where a chart has them.
	chartCRDs          = "crds"
	kubeRayCRDsRelease = "kuberay-crds"
)

// definitions are where KubeRay's CRDs lie that belong to the operator which is installed, and their version; no folder where this program
// does not know them. Kueue's are among the templates of its chart, and so need no such care.
func (a Args) definitions() (folder, version string, err error) {
	o := a.Operators.KubeRay
	switch {
	case isFolder(o.Chart):
		folder = filepath.Join(o.Chart, chartCRDs)
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return "", "", nil // they may be among its templates; that there is a chart at all is Helm's to check
		}
		version, err = crdchart.Version(o.Chart)
		return folder, version, err
	case !a.definitionsKnown():
		return "", "", nil
	}
	module, err := gomodule.Dir(kubeRayModule)
	if err != nil {
		return "", "", fmt.Errorf("KubeRay's CRDs are read from the module that this program is built from: %w", err)
	}
	return filepath.Join(module, filepath.FromSlash(kubeRayModuleCRDs)), a.Versions.KubeRay.Version, nil
}

// definitionsKnown says whether the CRDs of the KubeRay that is installed are at hand: those of the pinned version are, and a folder's.
func (a Args) definitionsKnown() bool {
	chart := a.Operators.KubeRay.or(a.Versions.KubeRay)
	return isFolder(chart.Location) || chart.Version == a.Versions.KubeRay.Version
}

// kubeRayCRDs is the release of KubeRay's CRDs; nil where this program does not know them.
func (a Args) kubeRayCRDs() (*helmRelease, error) {
	folder, version, err := a.definitions()
	if err != nil || folder == "" {
		return nil, err
	}
	chart, err := crdchart.Pack(a.Charts, kubeRayCRDsRelease, version, folder)
	if err != nil {
		return nil, fmt.Errorf("packing KubeRay's CRDs: %w", err)
	}
	return &helmRelease{
		role: roleKubeRayCRDs, key: "kuberayCRDs", name: kubeRayCRDsRelease, namespace: kubeRayNamespace, namespaceExists: true,
		chart: Chart{Location: filepath.ToSlash(chart), Version: version}, values: map[string]any{}, stays: true,
	}, nil
}
