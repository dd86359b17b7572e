package infra

import (
	"fmt"
	"time"

	"ray-on-aks/internal/strict"
)

// coldStart is what a GPU node may take from zero until Ray's pods are ready on it: some eight minutes to boot and to get its driver, and as
// much again for an image of several gigabytes.
const coldStart = 15 * time.Minute

// Warnings say what works but may not do what was meant. They are for a configuration that is valid.
func (a Args) Warnings() []string { return append(a.crdsWarning(), a.coldWarning()...) }

// crdsWarning is for a KubeRay whose CRDs this program has not.
func (a Args) crdsWarning() []string {
	o := a.Operators.KubeRay
	if o.Mode != ModeInstall || a.kubeRayCRDSource() != crdsOfChart {
		return nil
	}
	chart := o.or(a.Versions.KubeRay)
	key, named := "infra.operators.kuberay.version", chart.Location+" --version "+chart.Version
	if chart.Version == "" {
		key, named = kubeRayChartKey, chart.Location
	}
	return []string{fmt.Sprintf("%s: this program brings the CRDs of KubeRay %s and no other: Helm installs what this chart has in crds/ if there is none, and never "+
		"upgrades it; before an upgrade apply it: `helm show crds %s | kubectl apply --server-side --force-conflicts -f -`",
		key, a.Versions.KubeRay.Version, named)}
}

// coldWarning is for jobs that would be taken for stuck while their nodes are still coming.
func (a Args) coldWarning() []string {
	var cold []string
	for _, name := range a.gpuPools() {
		if a.Pools[name].Min == 0 && !a.Serves(name) {
			cold = append(cold, name)
		}
	}
	kueue := a.Operators.Kueue
	wait := kueue.WaitForPodsReady.Duration
	if len(cold) == 0 || wait >= coldStart || kueue.Mode == ModePreinstalled {
		return nil
	}
	return []string{fmt.Sprintf("infra.operators.kueue.waitForPodsReady: %s is less than the %s that a GPU node from zero and a Ray image may take: jobs of pool %s "+
		"would be put back into the queue, and their nodes taken away, again and again; leave it out, or set the pool's min", wait, coldStart, strict.List(cold))}
}
