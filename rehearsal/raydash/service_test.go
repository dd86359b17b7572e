package raydash

import (
	"maps"
	"net/http"
	"testing"
	"time"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	applications = "/api/serve/applications/"
	aurora       = `{"name": "aurora", "route_prefix": "/aurora", "import_path": "serve_aurora:app", "deployments": [{"name": "Aurora"}]}`
)

// config is a Serve configuration of the applications.
func config(apps string) string { return `{"applications": [` + apps + `]}` }

// inService runs the test in a world with the Ray cluster of a RayService
// named online beside the job's: its head runs, its worker does not yet.
func inService(t *testing.T, outcomes string, test func(world)) {
	t.Helper()
	inWorld(t, outcomes, func(w world) {
		w.addCluster("s", 1)
		w.addPod("s", "s-head", "head", corev1.PodRunning)
		w.addPod("s", "s-worker", "worker", corev1.PodPending)
		time.Sleep(time.Second)
		test(w)
	})
}

func (w world) addCluster(name string, workers int32) {
	w.t.Helper()
	cluster := &rayv1.RayCluster{
		ObjectMeta: meta(name, map[string]string{rayutils.RayOriginatedFromCRNameLabelKey: "online"}),
		Spec: rayv1.RayClusterSpec{
			AuthOptions:      &rayv1.AuthOptions{Mode: rayv1.AuthModeToken},
			WorkerGroupSpecs: []rayv1.WorkerGroupSpec{{Replicas: &workers, NumOfHosts: 1}},
		},
	}
	if _, err := w.ray.RayV1().RayClusters(space).Create(w.t.Context(), cluster, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: meta(name, nil), Data: map[string][]byte{rayutils.RAY_AUTH_TOKEN_SECRET_KEY: []byte(token)}}
	if _, err := w.client.CoreV1().Secrets(space).Create(w.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// addPod makes a pod of a RayService, labelled as KubeRay does it.
func (w world) addPod(cluster, name, kind string, phase corev1.PodPhase) {
	w.t.Helper()
	pod := rayPod(cluster, name, kind, phase)
	pod.Labels[rayutils.RayClusterServingServiceLabelKey] = "true"
	if kind == "head" {
		pod.Labels[rayutils.RayClusterServingServiceLabelKey] = "false"
	}
	if _, err := w.client.CoreV1().Pods(space).Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// kubeRay is KubeRay's own client of a head's dashboard.
func (w world) kubeRay(head string) *dashboardclient.RayDashboardClient {
	w.t.Helper()
	client := &dashboardclient.RayDashboardClient{}
	client.InitClient(w.dialer(w.pod(head), rayutils.DefaultDashboardPort), "http://head", token)
	return client
}

// put sends a Serve configuration to a head.
func (w world) put(head, text string) {
	w.t.Helper()
	if err := w.kubeRay(head).UpdateDeployments(w.t.Context(), []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

// apps answers the statuses of a head's applications, and of their
// deployments by application.deployment.
func (w world) apps(head string) map[string]string {
	w.t.Helper()
	applications, err := w.kubeRay(head).GetMultiApplicationStatus(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	statuses := map[string]string{}
	for name, a := range applications {
		statuses[name] = a.Status
		for deployment, d := range a.Deployments {
			statuses[name+"."+deployment] = d.Status
		}
	}
	return statuses
}

// health is the code of the Serve proxy's answer on a pod.
func (w world) health(pod string) int {
	w.t.Helper()
	code, _ := w.send(http.MethodGet, "/-/healthz", "", "", w.pod(pod), rayutils.DefaultServingPort)
	return code
}

func (w world) expect(head string, want map[string]string) {
	w.t.Helper()
	if got := w.apps(head); !maps.Equal(got, want) {
		w.t.Errorf("applications %v, want %v", got, want)
	}
}
