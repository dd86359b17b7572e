package e2e

import (
	"bytes"
	"os"
	"strings"

	"ray-on-aks/rehearsal/cloud"
)

// cloudMoves changes what the autoscaler, automatic upgrades and AKS itself
// change in a cluster that nobody touches.
func (e *env) cloudMoves() {
	e.Helper()
	must(e.T, cloud.Open(e.dir.Cloud()).Update(func(r cloud.Resources) error {
		for id, record := range r {
			switch {
			case strings.Contains(id, "/agentPools/"):
				record.Outputs["count"] = 1.0
				record.Outputs["currentOrchestratorVersion"] = "1.35.9"
				record.Outputs["nodeImageVersion"] = "AKSUbuntu-2204gen2containerd-202612.01.0"
			case strings.HasSuffix(record.Type, ":ManagedCluster"):
				record.Outputs["currentKubernetesVersion"] = "1.35.9"
			}
		}
		return nil
	}))
}

// rename gives the cluster's user another name, which makes its kubeconfig
// another, as when its certificates are rotated.
func (e *env) rename(user, other string) {
	e.Helper()
	path := e.kubeconfig()
	data, err := os.ReadFile(path)
	must(e.T, err)
	renamed := bytes.ReplaceAll(data, []byte("name: "+user), []byte("name: "+other))
	renamed = bytes.ReplaceAll(renamed, []byte("user: "+user), []byte("user: "+other))
	if bytes.Equal(data, renamed) {
		e.Fatalf("the kubeconfig has no user %s:\n%s", user, data)
	}
	must(e.T, os.WriteFile(path, renamed, 0o600))
}
