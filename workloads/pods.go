package workloads

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"ray-on-aks/internal/aks"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	// workerGroup is the one group of workers. Kueue refuses the name head.
	workerGroup = "workers"
	// pythonPath is the variable with the folders that Python imports from.
	pythonPath = "PYTHONPATH"
)

// rayCluster builds the cluster of a job or a service. Its workers are given no start parameters: KubeRay derives the number of CPUs and
// GPUs and the memory from the pod's limits, and mounts a /dev/shm of that size.
func (a Args) rayCluster(run Run, w Workload) rayv1.RayClusterSpec {
	return rayv1.RayClusterSpec{
		RayVersion:  a.Versions.Ray,
		AuthOptions: &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
		HeadGroupSpec: rayv1.HeadGroupSpec{
			// No task is placed on the head: it would compete with the entrypoint and with Ray's own services.
			RayStartParams: map[string]string{"num-cpus": "0"},
			Template:       a.head(run, w),
		},
		WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
			GroupName:      workerGroup,
			Replicas:       ptr.To(w.Workers),
			MinReplicas:    ptr.To(w.Workers),
			MaxReplicas:    ptr.To(w.Workers),
			RayStartParams: map[string]string{},
			Template:       a.worker(run, w),
		}},
	}
}

// head tolerates no GPU node, so that none is kept up for a pod that has no use for it.
func (a Args) head(run Run, w Workload) corev1.PodTemplateSpec {
	template := a.rayPod("ray-head", run, w, resources(w.Head, 0))
	if w.Kind == KindRayService {
		// No queue chooses a pool for it.
		template.Spec.NodeSelector = map[string]string{aks.LabelPool: a.CPUPool}
	}
	return template
}

func (a Args) worker(run Run, w Workload) corev1.PodTemplateSpec {
	template := a.rayPod("ray-worker", run, w, resources(w.Worker.Size, w.Worker.GPUs))
	if w.Pool != "" {
		template.Spec.NodeSelector = map[string]string{aks.LabelPool: w.Pool}
	}
	if w.Worker.GPUs > 0 {
		taint := aks.TaintGPU()
		template.Spec.Tolerations = []corev1.Toleration{{
			Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect,
		}}
	}
	return template
}

// rayPod builds what head and workers share. The driver of a job and the controller of a service are on the head, and what they import
// and read is what the workers do.
func (a Args) rayPod(container string, run Run, w Workload, r corev1.ResourceRequirements) corev1.PodTemplateSpec {
	c := corev1.Container{
		Name:  container,
		Image: w.Image,
		Env:   environment(run, w),
		// The storage account's name is known only once it exists, and nothing unknown is to be in a run.
		EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: aks.PlatformConfigMap},
		}}},
		Resources: r,
	}
	var volumes []corev1.Volume
	if run.ScriptsName != "" {
		volumes = append(volumes, scriptsVolume(run))
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "scripts", MountPath: scriptsPath, ReadOnly: true})
		if w.Kind == KindRayJob {
			c.Lifecycle = leave()
		}
	}
	// Containers may have names of 63 characters, which leaves no room for a prefix in a volume's name.
	for i, name := range slices.Sorted(slices.Values(w.Storage)) {
		volume := fmt.Sprintf("storage-%d", i)
		volumes = append(volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: aks.ClaimName(name)},
		}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: path.Join(aks.MountRoot, name)})
	}
	template := a.pod(c)
	template.Spec.Volumes = volumes
	return template
}

// scriptsVolume puts the files back where they were: a ConfigMap has no folders.
func scriptsVolume(run Run) corev1.Volume {
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: run.ScriptsName}}
	for _, file := range slices.Sorted(maps.Keys(run.scripts)) {
		source.Items = append(source.Items, corev1.KeyToPath{Key: scriptKey(file), Path: file})
	}
	return corev1.Volume{Name: "scripts", VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}

// pod is what all pods share: who they are.
func (a Args) pod(c corev1.Container) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{aks.LabelUseIdentity: "true"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: a.ServiceAccount,
			// Variables for every service of the namespace would be many, and a program refuses those that begin as its own do.
			EnableServiceLinks: ptr.To(false),
			Containers:         []corev1.Container{c},
		},
	}
}

// resources requests what the pod may use: Ray counts on what it is given, and a limit above the request would be memory that another
// pod counts on too.
func resources(s Size, gpus int64) corev1.ResourceRequirements {
	list := corev1.ResourceList{corev1.ResourceCPU: s.CPUs, corev1.ResourceMemory: s.Memory}
	if gpus > 0 {
		list[aks.ResourceGPU] = *resource.NewQuantity(gpus, resource.DecimalSI)
	}
	return corev1.ResourceRequirements{Requests: list, Limits: list}
}

// environment lists the workload's variables in a fixed order, after those that every program may rely on.
func environment(run Run, w Workload) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "RUN_ID", Value: run.ID},
		{Name: "RUN_NAME", Value: run.Name},
		// A change of the number alone would not move KubeRay to a new service cluster; this variable does.
		{Name: "RUN_WORKERS", Value: strconv.Itoa(int(w.Workers))},
		{Name: "RUN_STORAGE", Value: aks.MountRoot},
	}
	if run.Output != "" {
		env = append(env, corev1.EnvVar{Name: "RUN_OUTPUT", Value: path.Join(aks.MountRoot, run.Output, run.ID)})
	}
	if w.Kind == KindRayService {
		env = append(env, corev1.EnvVar{Name: serveToken, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: tokenName(run)}, Key: tokenKey,
		}}})
	}
	own := map[string]string{}
	if run.installs() {
		own = installEnv()
	}
	maps.Copy(own, w.Env)
	if run.ScriptsName != "" {
		// Workers import what the program imports, and only the driver has the program's folder on its path.
		own[pythonPath] = strings.TrimSuffix(scriptsPath+":"+own[pythonPath], ":")
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, corev1.EnvVar{Name: name, Value: literal(own[name])})
	}
	return env
}
