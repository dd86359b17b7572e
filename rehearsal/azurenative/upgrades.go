package azurenative

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// allowUpgrade refuses a version that AKS would not take a cluster to from the one
// that it has: an older one, or one that skips a minor.
func allowUpgrade(from, to string) error {
	old, err := version.ParseGeneric(from)
	wanted, err2 := version.ParseGeneric(to)
	if err != nil || err2 != nil {
		return nil //nolint:nilerr // a cluster is not bound to name one
	}
	// A minor alone is any patch of it.
	back := wanted.LessThan(old) && !strings.HasPrefix(from, to+".")
	if back || wanted.Minor() > old.Minor()+1 {
		return badRequest("OperationNotAllowed", "Upgrading Kubernetes version %s to %s is not allowed. Available upgrades: [%d.%d].",
			from, to, old.Major(), old.Minor()+1)
	}
	return nil
}

// allowPoolVersion refuses a pool that would be newer than its cluster.
func allowPoolVersion(w write) error {
	cluster, _, _ := find(w.resources, clusterOf(w.id))
	plane, asked := text(cluster.Outputs, "currentKubernetesVersion"), text(w.inputs, "orchestratorVersion")
	of, err := version.ParseGeneric(plane)
	pool, err2 := version.ParseGeneric(asked)
	if err != nil || err2 != nil || pool.Minor() <= of.Minor() {
		return nil //nolint:nilerr // a pool without one has its cluster's
	}
	return badRequest("NodePoolMcVersionIncompatible", "Node pool version %s and control plane version %s are incompatible. "+
		"Minor version of node pool version cannot be bigger than control plane version.", asked, plane)
}

// patchOf is the version that is run where one is asked for: the patch that is
// there already, if it is one of the minor that is asked for.
func patchOf(asked, current string) string {
	if asked == "" || strings.HasPrefix(current, asked+".") {
		return current
	}
	return asked
}
