package infra

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	for _, name := range []string{"infra-kuberay-namespace", "infra-kuberay-crds", "infra-kuberay", "infra-kueue-namespace", "infra-kueue"} {
		if !r.Named(t, name).RetainOnDelete {
			t.Errorf("%s is deleted when it leaves the program", name)
		}
	}
	for _, name := range []string{"infra-device-plugin", "infra-gpu-monitoring", "infra-namespace-vision"} {
		if r.Named(t, name).RetainOnDelete {
			t.Errorf("%s stays when it leaves the program", name)
		}
	}
}

func TestDefinitionsAreThoseOfTheOperator(t *testing.T) {
	chart := func(crds bool) string {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte("version: 1.2.3\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if crds {
			if err := os.CopyFS(filepath.Join(folder, chartCRDs), os.DirFS("testdata/crds")); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	for name, tc := range map[string]struct {
		operator Operator
		// chart begins the name of the CRDs' chart; empty for none.
		chart   string
		warning bool
	}{
		"pinned":                        {Operator{}, "kuberay-crds-1.6.1-", false},
		"pinned version elsewhere":      {Operator{Chart: "oci://mine/kuberay-operator"}, "kuberay-crds-1.6.1-", false},
		"another version":               {Operator{Version: "1.5.1"}, "", true},
		"another version elsewhere":     {Operator{Chart: "oci://mine/kuberay-operator", Version: "1.7.0"}, "", true},
		"a folder":                      {Operator{Chart: chart(true)}, "kuberay-crds-1.2.3-", false},
		"a folder that has them nested": {Operator{Chart: chart(false)}, "", false},
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
		if operator := args.kubeRay(crds); operator.skipCRDs != (tc.chart != "") {
			t.Errorf("%s: the operator's chart brings its CRDs: %v", name, !operator.skipCRDs)
		}
		warnings := strings.Join(args.Warnings(), "\n")
		if tc.warning != strings.Contains(warnings, "infra.operators.kuberay.version: this program brings the CRDs of 1.6.1 and no other") {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}
