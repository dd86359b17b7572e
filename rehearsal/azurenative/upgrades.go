package azurenative

import (
	"strconv"
	"strings"
)

// allowUpgrade refuses a version that AKS would not take a cluster to from the one
// that it has: an older one, or one that skips a minor.
func allowUpgrade(from, to string) error {
	old, wanted := versionNumbers(from), versionNumbers(to)
	if len(old) < 2 || len(wanted) < 2 {
		return nil // a cluster is not bound to name one
	}
	patches := len(old) > 2 && len(wanted) > 2
	switch {
	case wanted[1] > old[1]+1, wanted[1] < old[1], wanted[1] == old[1] && patches && wanted[2] < old[2]:
		return badRequest("OperationNotAllowed", "Upgrading Kubernetes version %s to %s is not allowed. Available upgrades: [%d.%d].",
			from, to, old[0], old[1]+1)
	}
	return nil
}

// allowPoolVersion refuses a pool that would be newer than its cluster.
func allowPoolVersion(w write) error {
	cluster, _, _ := find(w.resources, clusterOf(w.id))
	plane := text(cluster.Outputs, "currentKubernetesVersion")
	of, version := versionNumbers(plane), versionNumbers(text(w.inputs, "orchestratorVersion"))
	if len(of) < 2 || len(version) < 2 || version[1] <= of[1] {
		return nil
	}
	return badRequest("NodePoolMcVersionIncompatible", "Node pool version %s and control plane version %s are incompatible. "+
		"Minor version of node pool version cannot be bigger than control plane version.", text(w.inputs, "orchestratorVersion"), plane)
}

// patchOf is the version that is run where one is asked for: the patch that is
// there already, if it is one of the minor that is asked for.
func patchOf(asked, current string) string {
	if asked == "" || strings.HasPrefix(current, asked+".") {
		return current
	}
	return asked
}

// versionNumbers are those of 1.35 or 1.35.3; none of what is neither.
func versionNumbers(version string) []int {
	var all []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}
