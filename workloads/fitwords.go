package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ray-on-aks/infra/sku"
)

// limits are the keys that limit what is exceeded, as Exceeds names it.
func (f Flavor) limits(over []string) []string {
	var keys []string
	for _, words := range over {
		resource, _, _ := strings.Cut(words, " ")
		key := cmp.Or(f.LimitedBy[resource], "infra.pools."+f.Name+".max")
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// onOneNode says how many such pods one node holds, and why where that is not their size.
func onOneNode(pod, node sku.Resources) string {
	most := perNode(pod, node)
	if most < sku.WorkloadPods {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d, since it takes %d pods and has %d of its own", most, sku.MaxPods, sku.DaemonSetPods)
}
