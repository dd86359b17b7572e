package workloads

// What KubeRay and Ray call by these keys is fixed here or derived. Why is said to who writes one.

// Absent says why the keys are no part of a workload.
func (Workload) Absent() map[string]string {
	const (
		groups    = "a workload has one group of workers: their number is workers, their size worker"
		autoscale = "the number of workers is fixed, since Kueue admits a run whole; nodes come and go with the runs"
		deletion  = "the Ray cluster goes when the run has ended, and the run's record stays, or the next `up` would run it again"
		dashboard = "the dashboard answers inside the cluster alone, to whoever has its token: kubectl port-forward reaches it"
		upgrade   = "an upgrade has a second cluster beside the first where its pool has the room of both, and replaces it elsewhere"
		queue     = "a RayJob waits in the queue of its team, and a RayService in none"
	)
	return map[string]string{
		"workerGroups": groups, "workerGroupSpecs": groups, "replicas": "it is workers",
		"autoscaling": autoscale, "minWorkers": autoscale, "maxWorkers": autoscale, "enableInTreeAutoscaling": autoscale,
		"ttlSecondsAfterFinished": deletion, "shutdownAfterJobFinishes": deletion, "deletionStrategy": deletion,
		"dashboard": dashboard, "ingress": dashboard, "serviceType": dashboard, "auth": dashboard,
		"upgrade": upgrade, "upgradeStrategy": upgrade, "stepSizePercent": upgrade,
		"queue": queue, "queueName": queue, "namespace": "it is that of its team, queues.teams.<name>.namespace",
		"suspend":            "Kueue suspends a run and lets it go on",
		"serviceAccountName": "every pod runs as infra.serviceAccount, which is the identity of its team",
		"flavors":            "they are the pools: set pool, or leave it out for the first that has room",
		"gpus":               "it is worker.gpus, for each worker",
		"tolerations":        "workers with GPUs tolerate the nodes that have some",
	}
}

// Absent says why the keys are no part of a pod's size.
func (Size) Absent() map[string]string {
	return map[string]string{
		"gpus": "heads have none, and run on nodes that have none",
		"pool": "heads run on infra.pools.cpu, workers on the workload's pool",
		"cpu":  "it is cpus",
	}
}
