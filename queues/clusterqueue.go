package queues

import (
	"maps"
	"slices"

	"ray-on-aks/infra/sku"
	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// queue is a ClusterQueue: its name, and the tenants whose workloads it admits.
type queue struct {
	name    string
	tenants []Tenant
}

// queues lists the ClusterQueues by name. Where there are teams, those of the other shape are among them, with no quota and no tenant:
// jobs that they admitted before a switch run on in them, count in the cohort, and nothing has to be deleted. Kueue would not let go of
// a ClusterQueue before its last job has ended, and Pulumi would wait for that; see docs/adr/0007-tenants-and-shapes.md.
func (a Args) queues() []queue {
	byName := map[string]queue{a.ClusterQueue: {name: a.ClusterQueue}}
	for name := range a.Teams {
		byName[name] = queue{name: name}
	}
	for _, t := range a.Tenants() {
		q := byName[t.ClusterQueue]
		q.tenants = append(q.tenants, t)
		byName[t.ClusterQueue] = q
	}
	var list []queue
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list
}

// clusterQueue has one resource group for all resources. With two, Kueue could take a pod's GPU from one pool and its CPU from another,
// and pin it to both.
func clusterQueue(a Args, q queue) crd.Object {
	covered := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	if a.hasGPUs() {
		covered = append(covered, aks.ResourceGPU)
	}
	var flavors []kueue.FlavorQuotas
	for _, p := range a.Ordered() {
		flavors = append(flavors, flavorQuotas(a, q, p, covered))
	}
	spec := &kueue.ClusterQueueSpec{
		QueueingStrategy:  kueue.BestEffortFIFO,
		NamespaceSelector: namespaceSelector(q.tenants),
		ResourceGroups:    []kueue.ResourceGroup{{CoveredResources: covered, Flavors: flavors}},
		Preemption:        preemption(a),
	}
	if len(a.Teams) > 0 {
		spec.CohortName = kueue.CohortReference(a.Cohort)
	}
	return crd.Object{
		GVK:  kind("ClusterQueue"),
		Meta: metav1.ObjectMeta{Name: q.name, Labels: labels()},
		Spec: spec,
	}
}

// namespaceSelector admits the tenants' namespaces. Without a selector no namespace is admitted at all.
func namespaceSelector(tenants []Tenant) *metav1.LabelSelector {
	switch len(tenants) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{MatchLabels: map[string]string{aks.LabelNamespace: tenants[0].Namespace}}
	}
	in := metav1.LabelSelectorRequirement{Key: aks.LabelNamespace, Operator: metav1.LabelSelectorOpIn}
	for _, t := range tenants {
		in.Values = append(in.Values, t.Namespace)
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{in}}
}

// preemption lets a job of higher priority take the place of others in its queue, and a team take back what it lent, whatever the
// priority of who has it. What a team borrows it takes only where nobody runs. In the shape single, jobs that another queue admitted
// before a switch are treated as if they were in this one.
func preemption(a Args) *kueue.ClusterQueuePreemption {
	p := &kueue.ClusterQueuePreemption{WithinClusterQueue: kueue.PreemptionPolicyLowerPriority}
	switch {
	case a.Shape == ShapeTeams:
		p.ReclaimWithinCohort = kueue.PreemptionPolicyAny
	case len(a.Teams) > 0:
		p.ReclaimWithinCohort = kueue.PreemptionPolicyLowerPriority
	}
	return p
}

// flavorQuotas lists the covered resources in their order, as Kueue insists on.
func flavorQuotas(a Args, q queue, p Pool, covered []corev1.ResourceName) kueue.FlavorQuotas {
	var nominal sku.Resources
	var team Team
	if len(q.tenants) > 0 {
		nominal = a.Nominal(q.tenants[0], p)
		if a.Shape == ShapeTeams {
			team = a.Teams[q.name]
		}
	}
	// Kueue refuses a lending limit above the quota, which may be smaller than it was when the limit was written.
	borrow, lend := team.BorrowingLimit[p.Name], team.LendingLimit[p.Name]
	most, lendable := borrow.over(unlimited), least(lend.over(unlimited), nominal)
	f := kueue.FlavorQuotas{Name: kueue.ResourceFlavorReference(p.Name)}
	for _, name := range covered {
		d := dimensionOf[name]
		r := kueue.ResourceQuota{Name: name, NominalQuota: d.quantity(*d.of(&nominal))}
		if d.asked(borrow) != nil {
			limit := d.quantity(*d.of(&most))
			r.BorrowingLimit = &limit
		}
		if d.asked(lend) != nil {
			limit := d.quantity(*d.of(&lendable))
			r.LendingLimit = &limit
		}
		f.Resources = append(f.Resources, r)
	}
	return f
}

var dimensionOf = map[corev1.ResourceName]dimension{corev1.ResourceCPU: dimCPU, corev1.ResourceMemory: dimMemory, aks.ResourceGPU: dimGPUs}
