package infra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ray-on-aks/infra/crdchart"
)

// TestDefinitionsComeBeforeTheirOperator: Helm would never upgrade them, and an operator may ask for what old ones lack.
func TestDefinitionsComeBeforeTheirOperator(t *testing.T) {
	r := run(t, valid())
	crds, operator := r.Named(t, "infra-kuberay-crds"), r.Named(t, "infra-kuberay")
	if !dependsOn(crds, "infra-kuberay-namespace") || !dependsOn(operator, "infra-kuberay-crds") {
		t.Errorf("CRDs come after %v, the operator after %v", crds.Dependencies, operator.Dependencies)
	}
	if !operator.Inputs["skipCrds"].BoolValue() {
		t.Error("the operator's chart brings its CRDs, too")
	}
	if got := crds.Inputs["chart"].StringValue(); !strings.HasPrefix(got, ".charts/kuberay-crds-1.6.1-") || crds.Inputs["version"].StringValue() != "1.6.1" {
		t.Errorf("the CRDs are of %s", got)
	}
}

// TestOperatorsOutliveTheirPlaceInTheProgram: taken out, they would take along every queue and job that others have made.
func TestOperatorsOutliveTheirPlaceInTheProgram(t *testing.T) {
	r := run(t, large())
	for _, name := range []string{"infra-kuberay-namespace", "infra-kuberay", "infra-kueue-namespace", "infra-kueue"} {
		if !r.Named(t, name).RetainOnDelete {
			t.Errorf("%s is deleted when it leaves the program", name)
		}
	}
	// The CRDs are kept by Helm, which then forgets their release, and takes them over again when it comes back.
	for _, name := range []string{"infra-kuberay-crds", "infra-device-plugin", "infra-gpu-monitoring", "infra-namespace-vision"} {
		if r.Named(t, name).RetainOnDelete {
			t.Errorf("%s stays when it leaves the program", name)
		}
	}
}

// chartFolder makes a chart of that Chart.yaml, with or without CRDs.
func chartFolder(t *testing.T, meta string, crds bool) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte(meta), 0o600); err != nil {
		t.Fatal(err)
	}
	if crds {
		if err := os.CopyFS(filepath.Join(folder, crdchart.Folder), os.DirFS("testdata/crds")); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestAChartWithoutAVersionIsRefused(t *testing.T) {
	args := valid()
	args.Operators.KubeRay.Chart = chartFolder(t, "name: x\n", true)
	if _, err := args.kubeRayCRDs(); err == nil || !strings.HasPrefix(err.Error(), "infra.operators.kuberay.chart: must be a chart with a version, got /") {
		t.Errorf("got %v", err)
	}
}

func TestDefinitionsAreThoseOfTheOperator(t *testing.T) {
	const meta = "version: 1.2.3\n"
	packed := filepath.Join(t.TempDir(), "kuberay-operator-1.2.3.tgz")
	if err := os.WriteFile(packed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		operator Operator
		// chart begins the name of the CRDs' chart; empty for none, of which key is warned.
		chart, key string
	}{
		"pinned":                    {Operator{}, "kuberay-crds-1.6.1-", ""},
		"pinned version elsewhere":  {Operator{Chart: "oci://mine/kuberay-operator"}, "kuberay-crds-1.6.1-", ""},
		"another version":           {Operator{Version: "1.5.1"}, "", "version"},
		"another version elsewhere": {Operator{Chart: "oci://mine/kuberay-operator", Version: "1.7.0"}, "", "version"},
		"a folder":                  {Operator{Chart: chartFolder(t, meta, true)}, "kuberay-crds-1.2.3-", ""},
		"a folder without any":      {Operator{Chart: chartFolder(t, meta, false)}, "", "chart"},
		"a packed chart":            {Operator{Chart: packed}, "", "chart"},
	} {
		args := valid()
		tc.operator.Mode = ModeInstall
		args.Operators.KubeRay = tc.operator
		crds, err := args.kubeRayCRDs()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if crds != nil {
			got = filepath.Base(crds.chart.Location)
		}
		if !strings.HasPrefix(got, tc.chart) || tc.chart == "" && got != "" {
			t.Errorf("%s: the CRDs are of %q, want %q", name, got, tc.chart)
		}
		warnings := strings.Join(args.Warnings(), "\n")
		if tc.key == "" && warnings != "" ||
			!strings.HasPrefix(warnings, "infra.operators.kuberay."+tc.key+": this program brings the CRDs of KubeRay 1.6.1 and no other") && tc.key != "" {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}
