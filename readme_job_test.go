package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// drawJob follows one job of the rehearsal through the objects that the program makes for it.
func drawJob(t *testing.T) string {
	t.Helper()
	const workload = "llm-training"
	r := stacktest.Run(t, program, stacktest.Options{Stack: "rehearsal", Config: stackConfig(t, "Pulumi.rehearsal.yaml")})
	var job rayv1.RayJob
	for _, candidate := range objects[rayv1.RayJob](t, r, ":RayJob") {
		if strings.HasPrefix(candidate.Name, workload+"-") {
			job = candidate
		}
	}
	name := job.Namespace + "/" + workload + "-‹hash›"
	var door kueue.LocalQueue
	for _, q := range objects[kueue.LocalQueue](t, r, ":LocalQueue") {
		if q.Namespace == job.Namespace && q.Name == job.Labels["kueue.x-k8s.io/queue-name"] {
			door = q
		}
	}
	var queue kueue.ClusterQueue
	for _, q := range objects[kueue.ClusterQueue](t, r, ":ClusterQueue") {
		if q.Name == string(door.Spec.ClusterQueue) {
			queue = q
		}
	}
	if len(queue.Spec.ResourceGroups) != 1 {
		t.Fatalf("the job %q waits in no ClusterQueue of one resource group", job.Name)
	}
	head := job.Spec.RayClusterSpec.HeadGroupSpec.Template.Spec
	group := job.Spec.RayClusterSpec.WorkerGroupSpecs[0]

	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("```text")
	line("workloads.%s of Pulumi.rehearsal.yaml", workload)
	line("  │  pulumi up")
	line("RayJob %s, with its programs in a ConfigMap", name)
	line("  │  Kueue's webhook suspends it and makes a Workload")
	line("LocalQueue %s/%s", door.Namespace, door.Name)
	line("  │")
	line("ClusterQueue %s of the cohort %s: %s", queue.Name, queue.Spec.CohortName, quotas(queue.Spec.ResourceGroups[0]))
	line("  │  admitted; KubeRay makes pods, and the autoscaler nodes for them")
	line("  ├─ %s", podGroup(t, r, "submitter", 1, job.Spec.SubmitterPodTemplate.Spec))
	line("  ├─ %s", podGroup(t, r, "head", 1, head))
	line("  └─ %s", podGroup(t, r, "workers", int(*group.Replicas), group.Template.Spec))
	line("       │  %s", job.Spec.Entrypoint)
	line("       ├─ reads and writes %s", strings.Join(mounted(t, r, job.Namespace, group.Template.Spec), ", "))
	line("       └─ ends with its result in %s", strings.ReplaceAll(variable(group.Template.Spec, "RUN_OUTPUT"), variable(group.Template.Spec, "RUN_ID"), "‹run id›"))
	line("```")
	return b.String()
}

// quotas are what the flavors of the group give, those that they have of.
func quotas(group kueue.ResourceGroup) string {
	var texts []string
	for _, flavor := range group.Flavors {
		var parts []string
		for _, r := range flavor.Resources {
			if !r.NominalQuota.IsZero() {
				parts = append(parts, r.NominalQuota.String()+" "+string(r.Name))
			}
		}
		texts = append(texts, string(flavor.Name)+" ("+strings.Join(parts, ", ")+")")
	}
	return strings.Join(texts, ", ")
}

// podGroup tells what pods ask for, and on the nodes of which pools they may run: those whose taints they tolerate, as Kueue chooses flavors.
func podGroup(t *testing.T, r stacktest.Recording, name string, count int, pod corev1.PodSpec) string {
	t.Helper()
	var asked []string
	requests := pod.Containers[0].Resources.Requests
	for _, resource := range slices.Sorted(maps.Keys(requests)) {
		quantity := requests[resource]
		asked = append(asked, quantity.String()+" "+string(resource))
	}
	for _, flavor := range objects[kueue.ResourceFlavor](t, r, ":ResourceFlavor") {
		tolerated := !slices.ContainsFunc(flavor.Spec.NodeTaints, func(taint corev1.Taint) bool {
			return !slices.ContainsFunc(pod.Tolerations, func(toleration corev1.Toleration) bool { return toleration.Key == taint.Key })
		})
		_, gpus := requests["nvidia.com/gpu"]
		if tolerated && gpus == (len(flavor.Spec.NodeTaints) > 0) {
			return fmt.Sprintf("%-9s %d × (%s) by flavor %s on nodes of %s", name, count, strings.Join(asked, ", "), flavor.Name, nodesWith(flavor.Spec.NodeLabels))
		}
	}
	t.Fatalf("no flavor takes %s", name)
	return ""
}

// nodesWith are the labels that a flavor's nodes have.
func nodesWith(labels map[string]string) string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		texts = append(texts, key+"="+labels[key])
	}
	return strings.Join(texts, ", ")
}

// mounted are the places at which a pod has storage containers, with the containers.
func mounted(t *testing.T, r stacktest.Recording, namespace string, pod corev1.PodSpec) []string {
	t.Helper()
	handles := map[string]string{}
	for _, volume := range objects[corev1.PersistentVolume](t, r, ":PersistentVolume") {
		if claim := volume.Spec.ClaimRef; claim != nil && claim.Namespace == namespace {
			handles[claim.Name] = volume.Spec.CSI.VolumeAttributes["containerName"]
		}
	}
	var texts []string
	for _, mount := range pod.Containers[0].VolumeMounts {
		for _, volume := range pod.Volumes {
			if claim := volume.PersistentVolumeClaim; claim != nil && volume.Name == mount.Name {
				texts = append(texts, fmt.Sprintf("%s (container %s)", mount.MountPath, handles[claim.ClaimName]))
			}
		}
	}
	return texts
}

// variable is what the pod's container has under the name.
func variable(pod corev1.PodSpec, name string) string {
	for _, v := range pod.Containers[0].Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// objects are the recorded objects whose type ends so.
func objects[T any](t *testing.T, r stacktest.Recording, suffix string) []T {
	t.Helper()
	var found []T
	for _, res := range r.OfType(suffix) {
		data, err := json.Marshal(plain(t, res.Inputs))
		if err != nil {
			t.Fatal(err)
		}
		var object T
		if err := json.Unmarshal(data, &object); err != nil {
			t.Fatal(err)
		}
		found = append(found, object)
	}
	return found
}
