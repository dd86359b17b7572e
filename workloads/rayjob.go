package workloads

import (
	"path"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// labelRunID carries the run id on the object, for people who look for what belongs together.
const labelRunID = "ray-on-aks/run-id"

// rayJob builds the object of a run. suspend is never authored: Kueue's webhook sets it at creation and Kueue owns it from then on.
func (a Args) rayJob(run Run, w Workload) crd.Object {
	meta := objectMeta(run)
	tenant, _ := a.tenant(w.Team)
	meta.Labels[aks.LabelQueue] = tenant.Queue.Name
	meta.Labels[aks.LabelPriority] = w.Priority
	return crd.Object{GVK: rayv1.GroupVersion.WithKind(string(KindRayJob)), Meta: meta, Spec: a.rayJobSpec(run, w)}
}

// objectMeta is what jobs and services are known by.
func objectMeta(run Run) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: run.Name, Namespace: run.Namespace, Labels: map[string]string{
		aks.LabelName:      run.Workload,
		aks.LabelManagedBy: aks.ManagedBy,
		labelRunID:         run.ID,
	}}
}

func (a Args) rayJobSpec(run Run, w Workload) *rayv1.RayJobSpec {
	cluster := a.rayCluster(run, w)
	return &rayv1.RayJobSpec{
		Entrypoint:     entrypoint(w),
		RuntimeEnvYAML: run.runtimeEnvYAML(),
		SubmissionMode: rayv1.K8sJobMode,
		// Kueue refuses a job that keeps its pods. They go at once, without a TTL: Kueue has given their quota to the next run, which would
		// wait for the nodes. The program's log stays with the submitter's pod.
		ShutdownAfterJobFinishes:  true,
		BackoffLimit:              ptr.To(w.Retries),
		SubmitterConfig:           &rayv1.SubmitterConfig{BackoffLimit: ptr.To(w.Retries)},
		ActiveDeadlineSeconds:     ptr.To(int32(w.ActiveDeadline.Seconds())),
		PreRunningDeadlineSeconds: ptr.To(int32(w.PreRunningDeadline.Seconds())),
		SubmitterPodTemplate:      a.submitter(w),
		RayClusterSpec:            &cluster,
	}
}

// entrypoint is the command that the submitter hands to Ray; it runs on the head. KubeRay puts it into the arguments of the submitter's
// container, where Kubernetes would expand it.
func entrypoint(w Workload) string {
	if w.Script == "" {
		return literal(w.Entrypoint)
	}
	return "python " + path.Join(scriptsPath, w.Script)
}

// submitter is authored in full. Without it KubeRay fills in one of its own, which Kueue 0.17.1 neither places nor, with an empty
// template, counts.
func (a Args) submitter(w Workload) *corev1.PodTemplateSpec {
	template := a.pod(corev1.Container{
		Name:      "ray-job-submitter",
		Image:     w.Image,
		Resources: resources(submitterSize, 0),
	})
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &template
}

// submitterSize is enough for `ray job submit`, which waits and copies the log.
var submitterSize = size("500m", "512Mi")
