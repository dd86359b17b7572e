package raydash

import (
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAnApplicationDeploysOnceItsClusterIsThereAndThenRuns(t *testing.T) {
	inService(t, "", func(w world) {
		w.expect("s-head", map[string]string{})
		w.put("s-head", config(aurora))
		w.apps("s-head")
		time.Sleep(time.Minute)
		deploying := map[string]string{"aurora": "DEPLOYING", "aurora.Aurora": "UPDATING"}
		w.expect("s-head", deploying)
		w.run("s-worker")
		time.Sleep(time.Second)
		w.expect("s-head", deploying)
		time.Sleep(defaultSeconds * time.Second)
		w.expect("s-head", map[string]string{"aurora": "RUNNING", "aurora.Aurora": "HEALTHY"})
	})
}

// KubeRay submits as soon as the head is ready; the workers may not even exist.
func TestAClusterWithoutItsWorkersIsNotComplete(t *testing.T) {
	inService(t, "", func(w world) {
		if err := w.client.CoreV1().Pods(space).Delete(t.Context(), "s-worker", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.put("s-head", config(aurora))
		w.apps("s-head")
		time.Sleep(time.Minute)
		w.expect("s-head", map[string]string{"aurora": "DEPLOYING", "aurora.Aurora": "UPDATING"})
	})
}

func TestAServiceComesToTheOutcomeOfItsName(t *testing.T) {
	for _, status := range []string{"DEPLOY_FAILED", "UNHEALTHY"} {
		inService(t, `{"online": {"seconds": 60, "status": "`+status+`"}, "": {"seconds": 1}}`, func(w world) {
			w.run("s-worker")
			time.Sleep(time.Second)
			w.put("s-head", config(aurora))
			w.apps("s-head")
			time.Sleep(59 * time.Second)
			w.expect("s-head", map[string]string{"aurora": "DEPLOYING", "aurora.Aurora": "UPDATING"})
			time.Sleep(2 * time.Second)
			w.expect("s-head", map[string]string{"aurora": status, "aurora.Aurora": "UNHEALTHY"})
			// What is deployed follows the file, and does not deploy once more.
			if err := os.WriteFile(w.outcomes, []byte(`{"online": {"seconds": 600}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			w.expect("s-head", map[string]string{"aurora": "RUNNING", "aurora.Aurora": "HEALTHY"})
		})
	}
}

func TestAChangedConfigurationDeploysWhatChangedAndEndsWhatIsGone(t *testing.T) {
	inService(t, "", func(w world) {
		w.run("s-worker")
		time.Sleep(time.Second)
		const kept = `{"name": "kept", "route_prefix": "/kept", "import_path": "kept.app"}`
		w.put("s-head", config(aurora+","+kept+`,{"name": "gone", "import_path": "gone:app"}`))
		w.apps("s-head")
		time.Sleep(2 * defaultSeconds * time.Second)
		running := map[string]string{"aurora": "RUNNING", "aurora.Aurora": "HEALTHY", "kept": "RUNNING", "kept.app": "HEALTHY"}
		all := maps.Clone(running)
		all["gone"], all["gone.app"] = "RUNNING", "HEALTHY"
		w.expect("s-head", all)
		w.put("s-head", config(aurora+","+kept))
		w.expect("s-head", running)
		w.put("s-head", config(`{"name": "aurora", "route_prefix": "/aurora", "import_path": "serve_aurora:app", "args": {"model": "b"}},`+kept))
		w.expect("s-head", map[string]string{"aurora": "DEPLOYING", "aurora.app": "UPDATING", "kept": "RUNNING", "kept.app": "HEALTHY"})
		time.Sleep(2 * defaultSeconds * time.Second)
		w.expect("s-head", map[string]string{"aurora": "RUNNING", "aurora.app": "HEALTHY", "kept": "RUNNING", "kept.app": "HEALTHY"})
	})
}

func TestAFailedApplicationIsDeployedOnceMore(t *testing.T) {
	inService(t, `{"online": {"seconds": 0, "status": "DEPLOY_FAILED"}}`, func(w world) {
		w.run("s-worker")
		time.Sleep(time.Second)
		w.put("s-head", config(aurora))
		w.expect("s-head", map[string]string{"aurora": "DEPLOY_FAILED", "aurora.Aurora": "UNHEALTHY"})
		if err := os.WriteFile(w.outcomes, []byte(`{"online": {"seconds": 5}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		w.put("s-head", config(aurora))
		w.expect("s-head", map[string]string{"aurora": "DEPLOYING", "aurora.Aurora": "UPDATING"})
	})
}

// The second cluster of an upgrade has a head of its own, which knows nothing
// of what the first one serves.
func TestTheClustersOfAServiceHaveApplicationsOfTheirOwn(t *testing.T) {
	inService(t, "", func(w world) {
		w.run("s-worker")
		time.Sleep(time.Second)
		w.put("s-head", config(aurora))
		w.apps("s-head")
		time.Sleep(2 * defaultSeconds * time.Second)
		w.addCluster("s2", 0)
		w.addPod("s2", "s2-head", "head", corev1.PodRunning)
		time.Sleep(time.Second)
		w.expect("s2-head", map[string]string{})
		if code := w.health("s2-head"); code != http.StatusServiceUnavailable {
			t.Errorf("the new head's proxy answers %d before it was told anything", code)
		}
		w.put("s2-head", config(aurora))
		w.expect("s2-head", map[string]string{"aurora": "DEPLOYING", "aurora.Aurora": "UPDATING"})
		w.expect("s-head", map[string]string{"aurora": "RUNNING", "aurora.Aurora": "HEALTHY"})
	})
}

func TestProxiesAreHealthyAsServesAre(t *testing.T) {
	inService(t, "", func(w world) {
		expect := func(when string, head, worker int) {
			t.Helper()
			if got := []int{w.health("s-head"), w.health("s-worker")}; !slices.Equal(got, []int{head, worker}) {
				t.Errorf("%s head and worker answer %v, want %d and %d", when, got, head, worker)
			}
		}
		expect("before an application", http.StatusServiceUnavailable, http.StatusServiceUnavailable)
		w.put("s-head", config(aurora))
		expect("with an application that deploys", http.StatusOK, http.StatusServiceUnavailable)
		w.run("s-worker")
		time.Sleep(time.Second)
		w.apps("s-head")
		time.Sleep(2 * defaultSeconds * time.Second)
		expect("with an application that runs", http.StatusOK, http.StatusOK)
		if code, body := w.send(http.MethodGet, "/-/routes", "", "", w.pod("s-worker"), rayutils.DefaultServingPort); string(body) != `{"/aurora":"aurora"}`+"\n" {
			t.Errorf("routes: %d %s", code, body)
		}
		if code, _ := w.send(http.MethodGet, "/aurora", "", "", w.pod("s-worker"), rayutils.DefaultServingPort); code != http.StatusNotImplemented {
			t.Errorf("a request to the application: %d, want 501", code)
		}
	})
}

func TestServesPortIsTheContainers(t *testing.T) {
	inService(t, "", func(w world) {
		head := w.pod("s-head")
		head.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: rayutils.ServingPortName, ContainerPort: 8100}}
		w.put("s-head", config(aurora))
		if code, _ := w.send(http.MethodGet, "/-/healthz", "", "", head, 8100); code != http.StatusOK {
			t.Errorf("the named port answers %d", code)
		}
		if conn, err := w.heads.Dial(t.Context(), head, rayutils.DefaultServingPort); err == nil {
			conn.Close()
			t.Error("the default port answers beside the named one")
		}
	})
}

func TestServeConfigurationsAreChecked(t *testing.T) {
	inService(t, "", func(w world) {
		head := w.pod("s-head")
		for name, text := range map[string]string{
			"no JSON":         `{`,
			"no applications": `{}`,
			"no name":         config(`{"name": "", "import_path": "a:b"}`),
			"no import path":  config(`{"name": "a"}`),
			"bare module":     config(`{"name": "a", "import_path": "serve_aurora"}`),
			"two of a name":   config(aurora + `,{"name": "aurora", "route_prefix": "/b", "import_path": "a:b"}`),
			"two at a route":  config(aurora + `,{"name": "b", "route_prefix": "/aurora", "import_path": "a:b"}`),
			"two at the root": config(`{"name": "a", "import_path": "a:b"},{"name": "b", "import_path": "a:b"}`),
			"bare route":      config(`{"name": "a", "route_prefix": "aurora", "import_path": "a:b"}`),
			"route's slash":   config(`{"name": "a", "route_prefix": "/aurora/", "import_path": "a:b"}`),
		} {
			if code, body := w.send(http.MethodPut, applications, "Bearer "+token, text, head, rayutils.DefaultDashboardPort); code != http.StatusBadRequest {
				t.Errorf("%s: %d %s, want 400", name, code, body)
			}
		}
		for _, method := range []string{http.MethodPut, http.MethodGet} {
			if code, _ := w.send(method, applications, "Bearer wrong", config(aurora), head, rayutils.DefaultDashboardPort); code != http.StatusUnauthorized {
				t.Errorf("%s with a wrong token: %d, want 401", method, code)
			}
		}
		w.expect("s-head", map[string]string{})
	})
}
