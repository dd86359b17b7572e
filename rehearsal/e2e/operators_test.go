package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ray-on-aks/rehearsal/kuberay"
	"ray-on-aks/rehearsal/toolchain"
)

// charts stages the charts of a release of the operators, and answers their
// folders.
func (e *env) charts(name string, module func(context.Context, string) (string, string, error)) map[string]string {
	e.Helper()
	folder := e.dir.Join("charts", name)
	dir, _, err := module(e.Context(), toolchain.KueueModule)
	must(e.T, err)
	must(e.T, os.CopyFS(filepath.Join(folder, "kueue"), os.DirFS(filepath.Join(dir, "charts", "kueue"))))
	dir, version, err := module(e.Context(), toolchain.KubeRayModule)
	must(e.T, err)
	objects, err := kuberay.Build(dir, e.dir.Join("charts", name+"-manifests"))
	must(e.T, err)
	must(e.T, kuberay.WriteChart(filepath.Join(folder, "kuberay"), strings.TrimPrefix(version, "v"), objects))
	return map[string]string{"kueue": filepath.Join(folder, "kueue"), "kuberay": filepath.Join(folder, "kuberay")}
}

// submit creates a job that the stack knows nothing of, in the namespace's queue.
func (e *env) submit(name, namespace string) {
	e.Helper()
	queues, err := e.reader().Kueue.KueueV1beta2().LocalQueues(namespace).List(e.Context(), metav1.ListOptions{})
	must(e.T, err)
	pod := func(container string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "ray"}}}}
	}
	one := int32(1)
	_, err = e.reader().Ray.RayV1().RayJobs(namespace).Create(e.Context(), &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kueue.x-k8s.io/queue-name": queues.Items[0].Name}},
		Spec: rayv1.RayJobSpec{
			Entrypoint: "python -m this", Suspend: true, ShutdownAfterJobFinishes: true,
			RayClusterSpec: &rayv1.RayClusterSpec{
				RayVersion:    "2.55.1",
				HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: pod("ray-head")},
				WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{
					GroupName: "workers", Replicas: &one, MinReplicas: &one, MaxReplicas: &one,
					RayStartParams: map[string]string{}, Template: pod("ray-worker"),
				}},
			},
		},
	}, metav1.CreateOptions{})
	must(e.T, err)
}

// pods are the phases of the pods of a run's Ray cluster, by name and UID.
func (e *env) pods(run string) map[string]corev1.PodPhase {
	e.Helper()
	j, err := e.job(run)
	must(e.T, err)
	list, err := e.reader().Kubernetes.CoreV1().Pods(j.RayJob.Namespace).List(e.Context(), metav1.ListOptions{
		LabelSelector: rayutils.RayClusterLabelKey + "=" + j.RayJob.Status.RayClusterName})
	must(e.T, err)
	phases := map[string]corev1.PodPhase{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			phases[pod.Name+" "+string(pod.UID)] = pod.Status.Phase
		}
	}
	return phases
}
