package queues

// What Kueue calls by these keys is fixed here or derived. Why is said to who writes one.

const (
	noPreemption = "preemption is fixed, since some of its combinations never come to rest: a higher priority goes first, and a team has its quota back"
	noAdmission  = "quotas follow from what the pools can be, and the cluster autoscaler from the pods"
	noCohort     = "all teams are in queues.cohort, or they could not borrow from each other"
	noNamespaces = "a team has one namespace, queues.teams.<name>.namespace, and a queue in it"
)

// Absent says why the keys are no part of queues.
func (Args) Absent() map[string]string {
	return map[string]string{
		"preemption": noPreemption, "fairSharing": noPreemption,
		"admission": noAdmission, "admissionChecks": noAdmission,
		"namespaceSelector": noNamespaces,
	}
}

// Absent says why the keys are no part of a team.
func (Team) Absent() map[string]string {
	return map[string]string{
		"preemption": noPreemption, "fairSharing": noPreemption, "admissionChecks": noAdmission,
		"cohort": noCohort, "namespaceSelector": noNamespaces, "namespaces": noNamespaces,
		"nominalQuota": "it is quota, by pool", "weight": "it is share",
	}
}
