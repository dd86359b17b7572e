package infra

import (
	"strings"
	"testing"
)

func TestTheClusterIsAskedBeforeAnUpgrade(t *testing.T) {
	if got := run(t, valid()).One(t, ":ManagedCluster").UpdateHooks; len(got) != 1 || got[0] != "infra-kubernetes-upgrade-path" {
		t.Errorf("before an update of the cluster these are asked: %v", got)
	}
}

func TestKubernetesIsUpgradedAsAKSDoes(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"1.34.7", "1.35", ""},
		{"1.34.7", "1.34", ""},
		{"1.34.7", "1.34.9", ""},
		{"1.34.7", "1.35.1", ""},
		{"1.34", "1.34.2", ""},
		{"", "1.36", ""},
		{"1.34.7", "1.36", "one minor at a time, and the cluster has 1.34.7: set 1.35 before 1.36"},
		{"1.34", "1.36.2", "one minor at a time, and the cluster has 1.34: set 1.35 before 1.36.2"},
		{"1.35.3", "1.34", "the cluster has 1.35.3 already: got 1.34; set 1.35, which is any patch of it"},
		{"1.35.3", "1.35.2", "the cluster has 1.35.3 already: got 1.35.2; set 1.35, which is any patch of it"},
	} {
		got := ""
		if err := checkUpgrade(tc.from, tc.to); err != nil {
			got = err.Error()
		}
		if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || got != "" && !strings.HasPrefix(got, "infra.cluster.kubernetesVersion: AKS ") {
			t.Errorf("from %s to %s: got %q, want %q", tc.from, tc.to, got, tc.want)
		}
	}
}
