package report

import (
	"context"
	"strings"
	"testing"
	"time"

	rayfake "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned/fake"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	kueuefake "sigs.k8s.io/kueue/client-go/clientset/versioned/fake"
)

// world is a cluster of fakes.
type world struct {
	reader *Reader
	ray    *rayfake.Clientset
	kueue  *kueuefake.Clientset
}

// newWorld is a cluster with the job and its Workload.
func newWorld(j Job, others ...runtime.Object) world {
	j.RayJob.UID = "uid-run"
	queued := []runtime.Object{&kueue.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Name: "queue", Namespace: "team"}, Spec: kueue.LocalQueueSpec{ClusterQueue: "cluster-queue"},
	}}
	if j.Workload != nil {
		j.Workload.Name, j.Workload.Namespace, j.Workload.UID = "rayjob-run", "team", "uid-workload"
		j.Workload.OwnerReferences = []metav1.OwnerReference{{UID: j.RayJob.UID}}
		j.Workload.Spec.QueueName = "queue"
		queued = append(queued, j.Workload)
	}
	w := world{ray: rayfake.NewSimpleClientset(&j.RayJob), kueue: kueuefake.NewSimpleClientset(append(queued, others...)...)}
	w.reader = &Reader{Kubernetes: fake.NewSimpleClientset(), Ray: w.ray, Kueue: w.kueue}
	return w
}

// wait waits for the run in the world, and answers what was told too.
func (w world) wait(ctx context.Context) (string, error) {
	var told strings.Builder
	waiter := Waiter{
		Reader: w.reader, Workload: "smoke", Interval: time.Second, Progress: &told,
		Run: Run{Name: "run", Namespace: "team", Kind: "RayJob", Result: "https://account.blob.core.windows.net/models/run-id"},
	}
	err := waiter.Wait(ctx)
	return told.String(), err
}

// admitted is a running job of four pods, of which there is one, and ready.
func admitted() Job {
	j := running()
	j.RayJob.Status.RayClusterName = "cluster"
	j.Workload.Status.Admission.ClusterQueue = "cluster-queue"
	j.Workload.Spec.PodSets = []kueue.PodSet{{Name: "head", Count: 1}, {Name: "worker", Count: 2}, {Name: "submitter", Count: 1}}
	head := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "head", Namespace: "team", Labels: map[string]string{"ray.io/cluster": "cluster"}}}
	head.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	j.Pods = []corev1.Pod{head}
	return j
}

// become puts the world's job into another state.
func (w world) become(t *testing.T, j Job) {
	t.Helper()
	now := newWorld(j)
	rayJob, err := now.ray.RayV1().RayJobs("team").Get(t.Context(), "run", metav1.GetOptions{})
	if err == nil {
		_, err = w.ray.RayV1().RayJobs("team").Update(t.Context(), rayJob, metav1.UpdateOptions{})
	}
	if err == nil {
		_, err = w.kueue.KueueV1beta2().Workloads("team").Update(t.Context(), j.Workload, metav1.UpdateOptions{})
	}
	for _, p := range j.Pods {
		if err == nil {
			_, err = w.reader.Kubernetes.CoreV1().Pods("team").Create(t.Context(), &p, metav1.CreateOptions{})
		}
	}
	if err != nil {
		t.Error(err)
	}
}
