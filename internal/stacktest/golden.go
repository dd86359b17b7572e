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
	GoldenText(t, filepath.Join("testdata", name+".golden.yaml"), string(got))
}

// GoldenText compares a text with the file at path.
func GoldenText(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test with -update to write it", err)
	}
	if string(want) != got {
		t.Errorf("%s differs; run go test with -update if the change is meant.\ngot:\n%s", path, got)
	}
}
