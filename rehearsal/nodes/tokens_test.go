package nodes

import (
	"testing"

	"ray-on-aks/rehearsal/azurenative"
)

func TestTokensAreTheEmulators(t *testing.T) {
	if clusterType != azurenative.ManagedCluster || poolType != azurenative.AgentPool {
		t.Errorf("tokens %s and %s, the emulator has %s and %s",
			clusterType, poolType, azurenative.ManagedCluster, azurenative.AgentPool)
	}
}
