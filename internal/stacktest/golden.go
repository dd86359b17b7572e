package stacktest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Golden compares value, as YAML, with testdata/<name>.golden.yaml of the test's package.
func Golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden.yaml")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test with -update to write it", err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs; run go test with -update if the change is meant.\ngot:\n%s", path, got)
	}
}
