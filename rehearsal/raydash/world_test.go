package raydash

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	raytypes "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	rayfake "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned/fake"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	space = "default"
	token = "the-token"
)

// world has one Ray cluster with a head and a worker, a RayJob and its
// submitter pod, on a clock of its own.
type world struct {
	t        *testing.T
	heads    *Heads
	client   *fake.Clientset
	ray      *rayfake.Clientset
	outcomes string
}

func meta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: space, UID: types.UID("uid-" + name), Labels: labels}
}

func rayPod(cluster, name, kind string, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: meta(name, map[string]string{rayutils.RayClusterLabelKey: cluster, rayutils.RayNodeTypeLabelKey: kind}),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-" + kind}}},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

// submitterPod runs, with the status that KWOK gives it.
func submitterPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: meta("submitter", map[string]string{batchv1.JobNameLabel: "run"}),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: SubmitterContainer}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: SubmitterContainer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
}

// inWorld runs the test; outcomes is the outcomes file's text, "" for no file.
func inWorld(t *testing.T, outcomes string, test func(world)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outcomes.json")
	if outcomes != "" {
		if err := os.WriteFile(file, []byte(outcomes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := world{
			t: t, outcomes: file, heads: New(file, slog.New(slog.DiscardHandler)),
			client: fake.NewSimpleClientset(
				rayPod("c", "head", "head", corev1.PodRunning), rayPod("c", "worker", "worker", corev1.PodPending), submitterPod(),
				&corev1.Secret{ObjectMeta: meta("c", nil), Data: map[string][]byte{rayutils.RAY_AUTH_TOKEN_SECRET_KEY: []byte(token)}},
			),
			ray: rayfake.NewSimpleClientset(
				&rayv1.RayCluster{ObjectMeta: meta("c", nil), Spec: rayv1.RayClusterSpec{AuthOptions: &rayv1.AuthOptions{Mode: rayv1.AuthModeToken}}},
				&rayv1.RayJob{
					ObjectMeta: meta("run", nil), Spec: rayv1.RayJobSpec{Entrypoint: "python main.py"},
					Status: rayv1.RayJobStatus{JobId: "job-1", RayClusterName: "c"},
				},
			),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- w.heads.Run(ctx, w.client, w.ray) }()
		time.Sleep(time.Second)
		test(w)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func (w world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.client.CoreV1().Pods(space).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// complete lets the last pod of the cluster run.
func (w world) complete() { w.run("worker") }

// run lets a pod run.
func (w world) run(name string) {
	w.t.Helper()
	pod := w.pod(name)
	pod.Status.Phase = corev1.PodRunning
	if _, err := w.client.CoreV1().Pods(space).UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// ask sends a request to the head's dashboard; header is the token's.
func (w world) ask(method, path, header string) (code int, body []byte) {
	w.t.Helper()
	return w.send(method, path, header, "", w.pod("head"), rayutils.DefaultDashboardPort)
}

// dialer is a client whose every connection leads to a port of a pod.
func (w world) dialer(pod *corev1.Pod, port int32) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return w.heads.Dial(ctx, pod, port)
		},
	}}
}

// send sends a request to a port of a pod.
func (w world) send(method, path, header, text string, pod *corev1.Pod, port int32) (code int, body []byte) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, "http://pod"+path, strings.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	if header != "" {
		request.Header.Set("x-ray-authorization", header)
	}
	response, err := w.dialer(pod, port).Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		w.t.Fatal(err)
	}
	return response.StatusCode, body
}

// job answers what the dashboard says of the job.
func (w world) job() (info raytypes.RayJobInfo) {
	w.t.Helper()
	code, body := w.ask(http.MethodGet, "/api/jobs/job-1", "Bearer "+token)
	if code != http.StatusOK {
		w.t.Fatalf("%d %s", code, body)
	}
	if err := json.Unmarshal(body, &info); err != nil {
		w.t.Fatal(err)
	}
	return info
}
