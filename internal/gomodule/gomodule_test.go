package gomodule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSourceIsFound(t *testing.T) {
	dir, err := Dir("github.com/ray-project/kuberay/ray-operator")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config", "crd", "bases", "ray.io_rayjobs.yaml")); err != nil {
		t.Error(err)
	}
}

func TestMessagesOfGoAreToldOn(t *testing.T) {
	if _, err := Dir("example.org/nothing"); err == nil || !strings.Contains(err.Error(), "example.org/nothing: go list") || !strings.Contains(err.Error(), "not a known dependency") {
		t.Errorf("got %v", err)
	}
}
