package workloads

import (
	"maps"
	"path"
	"slices"

	"ray-on-aks/internal/aks"
	"ray-on-aks/internal/crd"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// workerGroup is the one group of workers. Kueue refuses the name head.
	workerGroup = "workers"
	// ttlSeconds is how long a finished run's pods stay. Kueue has given their quota to the next run by then, so it is short; logs that
	// have to last are in the run's output.
	ttlSeconds = 60
	// labelRunID carries the run id on the object, for people who look for what belongs together.
	labelRunID = "ray-on-aks/run-id"
)

// rayJob builds the object of a run. suspend is never authored: Kueue's webhook sets it at creation and Kueue owns it from then on.
func (a Args) rayJob(run Run, w Workload) crd.Object {
	labels := map[string]string{
		aks.LabelQueue:     w.Queue,
		aks.LabelName:      run.Workload,
		aks.LabelManagedBy: aks.ManagedBy,
		labelRunID:         run.ID,
	}
	return crd.Object{
		GVK:  rayv1.GroupVersion.WithKind("RayJob"),
		Meta: metav1.ObjectMeta{Name: run.Name, Namespace: a.Namespace, Labels: labels},
		Spec: a.rayJobSpec(run, w),
	}
}

func (a Args) rayJobSpec(run Run, w Workload) *rayv1.RayJobSpec {
	return &rayv1.RayJobSpec{
		Entrypoint:     entrypoint(w),
		SubmissionMode: rayv1.K8sJobMode,
		// Kueue refuses a job that keeps its pods.
		ShutdownAfterJobFinishes:  true,
		TTLSecondsAfterFinished:   ttlSeconds,
		BackoffLimit:              ptr.To(w.Retries),
		SubmitterConfig:           &rayv1.SubmitterConfig{BackoffLimit: ptr.To(w.Retries)},
		ActiveDeadlineSeconds:     ptr.To(int32(w.ActiveDeadline.Seconds())),
		PreRunningDeadlineSeconds: ptr.To(int32(w.PreRunningDeadline.Seconds())),
		SubmitterPodTemplate:      a.submitter(w),
		RayClusterSpec: &rayv1.RayClusterSpec{
			RayVersion:  a.Versions.Ray,
			AuthOptions: &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
			HeadGroupSpec: rayv1.HeadGroupSpec{
				// No task is placed on the head: it would compete with the entrypoint and with Ray's own services.
				RayStartParams: map[string]string{"num-cpus": "0"},
				Template:       a.rayPod("ray-head", run, w, w.Head),
			},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
				GroupName:      workerGroup,
				Replicas:       ptr.To(w.Workers),
				MinReplicas:    ptr.To(w.Workers),
				MaxReplicas:    ptr.To(w.Workers),
				RayStartParams: map[string]string{},
				Template:       a.rayPod("ray-worker", run, w, w.Worker),
			}},
		},
	}
}

// entrypoint is the command that the submitter hands to Ray; it runs on the head.
func entrypoint(w Workload) string {
	if w.Script == "" {
		return w.Entrypoint
	}
	return "python " + path.Join(scriptsPath, w.Script)
}

// rayPod builds the template of head and workers.
func (a Args) rayPod(container string, run Run, w Workload, s Size) corev1.PodTemplateSpec {
	c := corev1.Container{
		Name:      container,
		Image:     w.Image,
		Env:       environment(run, w),
		Resources: resources(s),
	}
	template := a.pod(c)
	if run.ScriptsName != "" {
		template.Spec.Volumes = []corev1.Volume{{
			Name: "scripts",
			VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: run.ScriptsName},
			}},
		}}
		template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scripts", MountPath: scriptsPath, ReadOnly: true}}
	}
	return template
}

// submitter is authored in full. Without it KubeRay fills in one of its own, which Kueue 0.17.1 neither places nor, with an empty
// template, counts.
func (a Args) submitter(w Workload) *corev1.PodTemplateSpec {
	template := a.pod(corev1.Container{
		Name:      "ray-job-submitter",
		Image:     w.Image,
		Resources: resources(submitterSize),
	})
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &template
}

// submitterSize is enough for `ray job submit`, which waits and copies the log.
var submitterSize = size("500m", "512Mi")

// pod is what all pods of a run share: who they are.
func (a Args) pod(c corev1.Container) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{aks.LabelUseIdentity: "true"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: a.ServiceAccount,
			Containers:         []corev1.Container{c},
		},
	}
}

// resources requests what the pod may use: Ray counts on what it is given, and a limit above the request would be memory that another
// pod counts on too.
func resources(s Size) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: s.CPUs, corev1.ResourceMemory: s.Memory}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

// environment lists the workload's variables in a fixed order, after those that every program may rely on.
func environment(run Run, w Workload) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "RUN_ID", Value: run.ID},
		{Name: "RUN_NAME", Value: run.Name},
		{Name: "RUN_WORKERS", Value: itoa(w.Workers)},
	}
	for _, name := range slices.Sorted(maps.Keys(w.Env)) {
		env = append(env, corev1.EnvVar{Name: name, Value: w.Env[name]})
	}
	return env
}
