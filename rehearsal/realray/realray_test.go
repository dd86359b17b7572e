package realray

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	rayutils "github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"ray-on-aks/rehearsal/pods"
)

const token = "0123456789abcdef"

// pod returns a head or worker as KubeRay makes it of the program's cluster.
func pod(kind, start string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ray-a", Name: "train-" + kind, UID: types.UID("12345678-" + kind),
			Labels: map[string]string{rayutils.RayNodeTypeLabelKey: kind, rayutils.RayClusterLabelKey: "train"},
		},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "scripts", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "scripts-1"},
					Items:                []corev1.KeyToPath{{Key: "a.py", Path: "a.py"}, {Key: "raylib.run.py", Path: "raylib/run.py"}},
				}}},
				{Name: "storage-0", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "blob-models"}}},
				{Name: "shared-mem", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			Containers: []corev1.Container{{
				EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "platform"}}}},
				Env: []corev1.EnvVar{
					{Name: rayutils.KUBERAY_GEN_RAY_START_CMD, Value: start},
					{Name: "RUN_STORAGE", Value: "/mnt/blob"},
					{Name: "PYTHONPATH", Value: "/opt/scripts"},
					{Name: "RAY_AUTH_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "train"}, Key: "auth_token",
					}}},
					{Name: "RAY_CLUSTER_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
						FieldPath: "metadata.labels['ray.io/cluster']",
					}}},
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "scripts", MountPath: "/opt/scripts"}, {Name: "storage-0", MountPath: "/mnt/blob/models"}, {Name: "shared-mem", MountPath: "/dev/shm"},
				},
			}},
		},
	}
}

// objects are what the pods refer to.
func objects() []runtime.Object {
	return []runtime.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ray-a", Name: "platform"}, Data: map[string]string{"ACCOUNT": "rayx"}},
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ray-a", Name: "scripts-1"},
			Data:       map[string]string{"a.py": "print()", "raylib.run.py": "x = 1"},
		},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ray-a", Name: "train"}, Data: map[string][]byte{"auth_token": []byte(token)}},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ray-a", Name: "blob-models"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v"},
		},
		&corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "v"},
			Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{VolumeAttributes: map[string]string{"containerName": "models"}},
			}},
		},
	}
}

// made prepares the node of a pod, without starting it.
func made(t *testing.T, p *corev1.Pod, head *node) (*Runtime, *node) {
	t.Helper()
	dir := t.TempDir()
	r := &Runtime{
		Dir: filepath.Join(dir, "ray"), Storage: filepath.Join(dir, "storage"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		client: fake.NewClientset(objects()...), nodes: map[types.UID]*node{}, problems: map[string]string{},
	}
	container := p.Spec.Containers[0]
	paths, err := r.mounts(t.Context(), p, container)
	if err != nil {
		t.Fatal(err)
	}
	env, err := pods.Environment(t.Context(), r.client, p, container)
	if err != nil {
		t.Fatal(err)
	}
	n, err := newNode(p, head, paths, env)
	if err != nil {
		t.Fatal(err)
	}
	r.nodes[p.UID] = n
	return r, n
}

const headStart = "ray start --head  --block  --dashboard-agent-listen-port=52365  --dashboard-host=0.0.0.0  --memory=8589934592  --metrics-export-port=8080  --num-cpus=0 "

// TestNodesHaveThePodsShape: what KubeRay says of size stays, and what belongs
// to a machine of the pod's own does not.
func TestNodesHaveThePodsShape(t *testing.T) {
	_, head := made(t, pod("head", headStart), nil)
	args := head.args()
	for _, want := range []string{"start", "--head", "--block", "--memory=8589934592", "--num-cpus=0", "--dashboard-host=127.0.0.1"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s among %v", want, args)
		}
	}
	for _, arg := range args {
		if strings.Contains(arg, "0.0.0.0") || strings.Contains(arg, "52365") || strings.Contains(arg, "=8080") {
			t.Errorf("%s is for a machine of its own", arg)
		}
	}
	_, worker := made(t, pod("worker", "ray start  --address=train-head-svc:6379  --block  --num-cpus=11 --num-gpus=1"), head)
	if args := worker.args(); !slices.Contains(args, "--address="+head.gcs) || !slices.Contains(args, "--num-gpus=1") || slices.Contains(args, "--head") {
		t.Errorf("the worker's arguments are %v", args)
	}
	if reflect.DeepEqual(worker.ports, head.ports) || worker.dashboard != head.dashboard {
		t.Errorf("worker %+v, head %+v", worker, head)
	}
}

// TestProgramsFindWhatThePodMounts: variables lead to the same files on this
// machine.
func TestProgramsFindWhatThePodMounts(t *testing.T) {
	_, n := made(t, pod("head", headStart), nil)
	env := map[string]string{}
	for _, setting := range n.environ("/python", "MARK=1") {
		name, value, _ := strings.Cut(setting, "=")
		env[name] = value
	}
	if data, err := os.ReadFile(filepath.Join(env["PYTHONPATH"], "raylib", "run.py")); err != nil || string(data) != "x = 1" {
		t.Errorf("raylib/run.py: %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(env["RUN_STORAGE"], "models")); err != nil || !info.IsDir() {
		t.Errorf("storage: %v", err)
	}
	want := map[string]string{"ACCOUNT": "rayx", "RAY_AUTH_TOKEN": token, "RAY_CLUSTER_NAME": "train", "RAY_ADDRESS": n.gcs, "MARK": "1"}
	for name, value := range want {
		if env[name] != value {
			t.Errorf("%s is %q, want %q", name, env[name], value)
		}
	}
	if _, ok := env[rayutils.KUBERAY_GEN_RAY_START_CMD]; ok {
		t.Error("the command of another machine is still told")
	}
	if got := n.local("python /opt/scripts/a.py"); got != "python "+filepath.Join(env["PYTHONPATH"], "a.py") {
		t.Errorf("the entrypoint is %q", got)
	}
}

// TestServeGetsWhatItCanHave: one proxy at a free port, and nothing to install.
func TestServeGetsWhatItCanHave(t *testing.T) {
	r, n := made(t, pod("head", headStart), nil)
	var got map[string]any
	dashboard := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		if err := json.NewDecoder(request.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		if request.Header.Get("X-Ray-Authorization") != "Bearer "+token {
			t.Errorf("headers: %v", request.Header)
		}
	}))
	defer dashboard.Close()
	n.dashboard = strings.TrimPrefix(dashboard.URL, "http://")
	body := `{"applications":[{"name":"a","import_path":"m:app","runtime_env":{"pip":{"packages":["-r /opt/scripts/requirements.txt"]},"config":{"x":1}}}]}`
	request := httptest.NewRequest(http.MethodPut, "/api/serve/applications/", bytes.NewBufferString(body))
	request.Header.Set("X-Ray-Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	r.Answer(answer, request, n.pod, rayutils.DefaultDashboardPort)
	if answer.Code != http.StatusOK {
		t.Fatal(answer.Code, answer.Body)
	}
	options, _ := got["http_options"].(map[string]any)
	env, _ := got["applications"].([]any)[0].(map[string]any)["runtime_env"].(map[string]any)
	if got["proxy_location"] != "HeadOnly" || options["host"] != "127.0.0.1" || env["pip"] != nil || env["config"] == nil {
		t.Errorf("got %v", got)
	}
}

// TestJobsAreSubmittedOnce, with the cluster's token and this machine's paths,
// and their logs are kept.
func TestJobsAreSubmittedOnce(t *testing.T) {
	r, n := made(t, pod("head", headStart), nil)
	job := &rayv1.RayJob{Spec: rayv1.RayJobSpec{Entrypoint: "python /opt/scripts/a.py '$$(date) $RUN_OUTPUT'", RuntimeEnvYAML: "pip: {packages: [x]}\n"}}
	job.Status.JobId = "train-1"
	if status, err := r.Submit(t.Context(), n.pod, job); status != "" || err != nil {
		t.Errorf("nobody listens yet: %q, %v", status, err)
	}
	var submitted []map[string]any
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/jobs/", func(w http.ResponseWriter, request *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(request.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		submitted = append(submitted, body)
		_, _ = io.WriteString(w, `{"job_id": "train-1"}`)
	})
	mux.HandleFunc("GET /api/jobs/train-1", func(w http.ResponseWriter, _ *http.Request) {
		if len(submitted) == 0 {
			http.NotFound(w, nil)
			return
		}
		_, _ = io.WriteString(w, `{"status": "SUCCEEDED"}`)
	})
	mux.HandleFunc("GET /api/jobs/train-1/logs", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"logs": "it said so"}`)
	})
	dashboard := httptest.NewServer(mux)
	defer dashboard.Close()
	n.dashboard = strings.TrimPrefix(dashboard.URL, "http://")
	for _, want := range []rayv1.JobStatus{rayv1.JobStatusPending, rayv1.JobStatusSucceeded} {
		if status, err := r.Submit(t.Context(), n.pod, job); status != want || err != nil {
			t.Errorf("got %q, %v, want %q", status, err, want)
		}
	}
	if len(submitted) != 1 || submitted[0]["entrypoint"] != n.local(`python /opt/scripts/a.py "$(date) $RUN_OUTPUT"`) || submitted[0]["runtime_env"] != nil {
		t.Errorf("submitted %v", submitted)
	}
	if log, err := os.ReadFile(filepath.Join(r.Dir, "jobs", "train-1.log")); err != nil || string(log) != "it said so" {
		t.Errorf("the log is %q, %v", log, err)
	}
}
