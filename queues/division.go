package queues

import (
	"cmp"
	"math/bits"
	"slices"

	"ray-on-aks/infra/sku"
)

const (
	// maxShare bounds a team's share, so that shares add up to a number.
	maxShare = 1_000_000
	// maxWeight bounds what a division is by. It is more than any share, and more GPUs than there are.
	maxWeight = 1 << 40
)

// divide returns each team's quota of the pool. What is not given explicitly is divided by share. Of a pool with GPUs, CPU and memory
// follow the GPUs, so that who is guaranteed GPUs can also use them.
func (a Args) divide(p Pool) map[string]sku.Resources {
	names, total := a.Teams.Names(), a.total(p)
	parts, shares := make([]sku.Resources, len(names)), make([]int64, len(names))
	for i, name := range names {
		shares[i] = int64(min(max(1, a.Teams[name].Share), maxShare))
	}
	a.divideOne(dimGPUs, p, total, parts, shares, 0)
	weights, whole := shares, int64(0)
	if total.GPUs > 0 {
		weights, whole = make([]int64, len(names)), total.GPUs
		for i := range parts {
			weights[i] = parts[i].GPUs
		}
	}
	a.divideOne(dimCPU, p, total, parts, weights, whole)
	a.divideOne(dimMemory, p, total, parts, weights, whole)
	quotas := make(map[string]sku.Resources, len(names))
	for i, name := range names {
		quotas[name] = parts[i]
	}
	return quotas
}

// divideOne fills in one resource of the teams' parts: what a team is given explicitly, and to the others the rest of total by weight.
// Where the weights are themselves parts of a whole, the part of it that no team has takes its share of the rest too.
func (a Args) divideOne(d dimension, p Pool, total sku.Resources, parts []sku.Resources, weights []int64, whole int64) {
	rest := *d.of(&total)
	var open []int
	var openWeights []int64
	for i, name := range a.Teams.Names() {
		v := d.valid(a.Teams[name].Quota[p.Name])
		if v == nil {
			open, openWeights = append(open, i), append(openWeights, weights[i])
			continue
		}
		n := min(d.count(*v), *d.of(&total)) // more is refused
		*d.of(&parts[i]) = n
		rest, whole = max(0, rest-n), max(0, whole-weights[i])
	}
	for j, n := range apportion(rest, openWeights, whole) {
		*d.of(&parts[open[j]]) = n
	}
}

// apportion divides n by weight into whole units by largest remainder: each part is less than a unit off, and no unit is lost. Ties go
// to the first. If whole is more than the sum of the weights, what it has more is the weight of a part that is not returned.
func apportion(n int64, weights []int64, whole int64) []int64 {
	sum, all := int64(0), make([]int64, 0, len(weights)+1)
	for _, w := range weights {
		w = min(max(0, w), maxWeight)
		sum, all = sum+w, append(all, w)
	}
	if extra := min(whole, maxWeight) - sum; extra > 0 {
		sum, all = sum+extra, append(all, extra)
	}
	parts := make([]int64, len(all))
	if sum == 0 || n <= 0 {
		return parts[:len(weights)]
	}
	remainders, order := make([]uint64, len(all)), make([]int, len(all))
	left := n
	for i, w := range all {
		// In 128 bits: memory times a share can be more than 64.
		high, low := bits.Mul64(uint64(n), uint64(w))
		quotient, remainder := bits.Div64(high, low, uint64(sum))
		parts[i], remainders[i], order[i] = int64(quotient), remainder, i
		left -= parts[i]
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(remainders[y], remainders[x]) })
	for _, i := range order[:left] {
		parts[i]++
	}
	return parts[:len(weights)]
}
