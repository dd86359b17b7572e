// Package report tells what became of a cluster's Ray jobs, from what Kueue,
// KubeRay and the scheduler wrote into the API.
package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	rayversioned "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	kueueversioned "sigs.k8s.io/kueue/client-go/clientset/versioned"

	"ray-on-aks/internal/aks"
)

// Job is a RayJob with all that belongs to it.
type Job struct {
	RayJob rayv1.RayJob
	// Workload is Kueue's view of the job; nil before Kueue saw it.
	Workload *kueue.Workload
	// Pods are those of the job's Ray cluster and its submitter.
	Pods []corev1.Pod
	// Pools are the node pools by node.
	Pools map[string]string
}

// Reader reads jobs.
type Reader struct {
	Kubernetes kubernetes.Interface
	Ray        rayversioned.Interface
	Kueue      kueueversioned.Interface
}

// Open answers a reader of the cluster that the kubeconfig file leads to.
func Open(kubeconfig string) (*Reader, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	return NewReader(config)
}

// NewReader answers a reader of the cluster that config leads to.
func NewReader(config *rest.Config) (*Reader, error) {
	k, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	r, err := rayversioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	q, err := kueueversioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Reader{Kubernetes: k, Ray: r, Kueue: q}, nil
}

// Jobs reads every RayJob, ordered by namespace and name.
func (r *Reader) Jobs(ctx context.Context) ([]Job, error) {
	// Workloads first: were a job to end between the two lists, it must not look
	// as if Kueue had finished a job that has not run.
	workloads, err := r.Kueue.KueueV1beta2().Workloads("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing Workloads: %w", err)
	}
	rayJobs, err := r.Ray.RayV1().RayJobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing RayJobs: %w", err)
	}
	pods, err := r.Kubernetes.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	nodes, err := r.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	pools := map[string]string{}
	for _, node := range nodes.Items {
		pools[node.Name] = node.Labels[aks.LabelPool]
	}
	jobs := make([]Job, 0, len(rayJobs.Items))
	for _, rayJob := range rayJobs.Items {
		job := join(rayJob, workloads.Items, pods.Items)
		job.Pools = pools
		jobs = append(jobs, job)
	}
	slices.SortFunc(jobs, func(a, b Job) int {
		return strings.Compare(a.RayJob.Namespace+"/"+a.RayJob.Name, b.RayJob.Namespace+"/"+b.RayJob.Name)
	})
	return jobs, nil
}

// join finds what belongs to a RayJob.
func join(rayJob rayv1.RayJob, workloads []kueue.Workload, pods []corev1.Pod) Job {
	job := Job{RayJob: rayJob}
	for i, w := range workloads {
		if owned(w.OwnerReferences, rayJob.ObjectMeta) {
			job.Workload = &workloads[i]
		}
	}
	for _, pod := range pods {
		if job.owns(pod) {
			job.Pods = append(job.Pods, pod)
		}
	}
	return job
}

func owned(references []metav1.OwnerReference, owner metav1.ObjectMeta) bool {
	return slices.ContainsFunc(references, func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
}

// owns says whether the pod is of the job's Ray cluster or its submitter.
func (j Job) owns(pod corev1.Pod) bool {
	if pod.Namespace != j.RayJob.Namespace {
		return false
	}
	cluster := pod.Labels[rayutils.RayClusterLabelKey]
	return cluster != "" && cluster == j.RayJob.Status.RayClusterName ||
		pod.Labels[batchv1.JobNameLabel] == j.RayJob.Name // the submitter's Job has the RayJob's name
}

// Condition says whether a condition of the job's Workload is true.
func (j Job) Condition(kind string) bool {
	return j.Workload != nil && apimeta.IsStatusConditionTrue(j.Workload.Status.Conditions, kind)
}

// Ended says whether the job will change no more by itself: KubeRay is done with
// it, and Kueue has given its quota back.
func (j Job) Ended() bool {
	switch {
	case j.done():
		return j.RayJob.Labels[aks.LabelQueue] == "" || j.Workload == nil || j.Condition(kueue.WorkloadFinished)
	case j.RayJob.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusValidationFailed:
		return true // Kueue 0.17.1 never finishes its Workload
	}
	return j.Orphaned()
}

// done says that KubeRay has ended the job. Once Kueue's time of retention is
// over such a job has no Workload any more.
func (j Job) done() bool {
	status := j.RayJob.Status.JobDeploymentStatus
	return status == rayv1.JobDeploymentStatusComplete || status == rayv1.JobDeploymentStatusFailed
}

// Orphaned says that Kueue finished the Workload though the RayJob never ran:
// it is suspended still, and nobody will start it any more. Its start time says
// nothing, since KubeRay sets that before it looks whether a job is suspended.
// It was seen once in thousands of admissions, under heavy load.
func (j Job) Orphaned() bool {
	return j.Condition(kueue.WorkloadFinished) && j.RayJob.Spec.Suspend && !j.done()
}

// Succeeded says that the job ran through the queue and ended well.
func (j Job) Succeeded() bool {
	return j.RayJob.Status.JobStatus == rayv1.JobStatusSucceeded &&
		j.RayJob.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusComplete && !j.Orphaned()
}

// Queue is the state of the job in its queue, in one word or, for a flaw, more.
func (j Job) Queue() string {
	switch {
	case j.RayJob.Labels[aks.LabelQueue] == "":
		return "no queue"
	case j.Workload == nil && j.done():
		return "finished"
	case j.Workload == nil:
		return "unseen"
	case j.Orphaned():
		return "FINISHED BUT NEVER RAN"
	case j.Condition(kueue.WorkloadFinished):
		return "finished"
	case j.Condition(kueue.WorkloadAdmitted):
		return "admitted"
	case j.Condition(kueue.WorkloadEvicted):
		return "evicted"
	}
	return "pending"
}

// Flavors names the flavor of each pod set, as Kueue assigned it; it is gone
// once the Workload is finished and its quota returned.
func (j Job) Flavors() map[string]string {
	flavors := map[string]string{}
	if j.Workload == nil || j.Workload.Status.Admission == nil {
		return flavors
	}
	for _, set := range j.Workload.Status.Admission.PodSetAssignments {
		var names []string
		for _, f := range set.Flavors {
			if !slices.Contains(names, string(f)) {
				names = append(names, string(f))
			}
		}
		slices.Sort(names)
		flavors[string(set.Name)] = strings.Join(names, "+")
	}
	return flavors
}
