package pods

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"ray-on-aks/rehearsal/process"
)

func TestSplitImageCutsRepositoryAndTag(t *testing.T) {
	for image, want := range map[string][2]string{
		"registry.example/kueue/kueue:v0.17.1":               {"registry.example/kueue/kueue", "v0.17.1"},
		"registry.example:5000/kueue/kueue":                  {"registry.example:5000/kueue/kueue", ""},
		"registry.example:5000/kueue/kueue:v1":               {"registry.example:5000/kueue/kueue", "v1"},
		"registry.example/kueue/kueue:v1@sha256:0123456789":  {"registry.example/kueue/kueue", "v1"},
		"registry.example:5000/kueue/kueue@sha256:012345678": {"registry.example:5000/kueue/kueue", ""},
		"kueue": {"kueue", ""},
	} {
		if repository, tag := splitImage(image); repository != want[0] || tag != want[1] {
			t.Errorf("%s: %q and %q, want %q", image, repository, tag, want)
		}
	}
}

func TestAProgramServesItsVersionAndItsReleaseBranch(t *testing.T) {
	p := Program{Version: "v0.17.1"}
	for tag, want := range map[string]bool{
		"v0.17.1": true, "release-0.17": true,
		"0.17.1": false, "v0.17.0": false, "v0.17.10": false, "release-0.16": false, "release-0.17.1": false, "main": false, "": false,
	} {
		if got := p.serves(tag); got != want {
			t.Errorf("tag %q: %v, want %v", tag, got, want)
		}
	}
}

// Of two releases the one runs that the image is of; for a third the pod is told
// that there is none, rather than left to KWOK.
func TestAPodGetsTheReleaseOfItsImage(t *testing.T) {
	k := &Kubelet{Programs: []Program{{"kueue/kueue", "/new", "v0.17.1"}, {"kueue/kueue", "/old", "v0.16.6"}}}
	for tag, want := range map[string]string{"v0.17.1": "/new", "release-0.17": "/new", "v0.16.6": "/old", "v0.15.0": "/new"} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "registry.example/kueue/kueue:" + tag}}}}
		if got, ok := k.program(pod); !ok || got.Path != want {
			t.Errorf("%s: %s, want %s", tag, got.Path, want)
		}
	}
}

func TestOnlyPodsOfAKnownImageGetAProcess(t *testing.T) {
	k := &Kubelet{Programs: []Program{{Image: "kueue/kueue", Version: "v0.17.1"}}}
	for image, want := range map[string]bool{
		"registry.example/kueue/kueue:v1": true, "registry.example/a/kueue/kueue@sha256:0": true,
		"registry.example/kueue/kueue-viz:v1": false, "registry.example/my-kueue/kueue:v1": false, "kueue": false,
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}
		if got := k.Owns(pod); got != want {
			t.Errorf("%s: %v, want %v", image, got, want)
		}
	}
}

func TestPodsOfOneMomentGetAddressesOfTheirOwn(t *testing.T) {
	k := &Kubelet{pods: map[types.UID]*running{}}
	all := []*corev1.Pod{{Status: corev1.PodStatus{PodIP: "10.245.0.2"}}}
	seen := map[string]bool{"10.245.0.2": true}
	// None of the new ones is in any status yet.
	for _, uid := range []types.UID{"00000000-0000-1", "00000000-0000-2", "00000000-0000-3"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}}
		all = append(all, pod)
		k.pods[uid] = k.newRunning(pod, Program{}, all)
		ip := k.pods[uid].ip
		if seen[ip] {
			t.Errorf("%s was given out twice", ip)
		}
		seen[ip] = true
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "00000000-0000-4"}, Status: corev1.PodStatus{PodIP: "10.245.3.4"}}
	if ip := k.newRunning(kept, Program{}, all).ip; ip != kept.Status.PodIP {
		t.Errorf("a pod that has address %s was given %s", kept.Status.PodIP, ip)
	}
}

func TestEnvironmentHasWhatAKubeletAddsAndTheContainersOwn(t *testing.T) {
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	r := &running{kubelet: &Kubelet{client: fake.NewClientset()}, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}}}
	env, err := r.environment(t.Context(), corev1.Container{Env: []corev1.EnvVar{
		{Name: "OWN", Value: "x=y"}, {Name: "MADE", Value: "$(OWN) $$(OWN) $(LATER)"}, {Name: "HOME", Value: "/home"},
		{Name: "NS", ValueFrom: field("metadata.namespace")}, {Name: "NAME", ValueFrom: field("metadata.name")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=443", "HTTP_PROXY=http://" + proxyAddress,
		"OWN=x=y", "MADE=x=y $(OWN) $(LATER)", "HOME=/home", "NS=ns", "NAME=p",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %v", want, env)
		}
	}
	_, err = r.environment(t.Context(), corev1.Container{Env: []corev1.EnvVar{{Name: "NODE", ValueFrom: field("spec.nodeName")}}})
	if err == nil || !strings.Contains(err.Error(), "NODE") {
		t.Errorf("a source that the rehearsal lacks is answered with %v", err)
	}
}

// guestPod runs the guest as the process of a pod.
func guestPod(tag string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: "system", UID: "01234567-89ab-cdef-0123-456789abcdef"},
		Spec: corev1.PodSpec{
			NodeName: "node",
			Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "config"},
			}}}},
			Containers: []corev1.Container{{
				Name: "manager", Image: "registry.example/kueue/guest:" + tag,
				Args:           []string{"serve", "127.0.0.1:8080"},
				Ports:          []corev1.ContainerPort{{Name: "health", ContainerPort: 8080}},
				VolumeMounts:   []corev1.VolumeMount{{Name: "config", MountPath: "/etc/config"}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("health")}}},
			}},
		},
	}
}

// startKubelet runs a kubelet that has the guest as its one program.
func startKubelet(t *testing.T, client *fake.Clientset) *Kubelet {
	t.Helper()
	path := guest(t)
	group, err := process.NewGroup(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := &Kubelet{
		Dir: t.TempDir(), Sockets: t.TempDir(), Self: os.Args[0],
		APIServer: outside(t, "api"), Proxy: outside(t, "proxy"),
		Programs: []Program{{Image: "kueue/guest", Path: path, Version: "v1.2.3"}},
		Group:    group, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx, client) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the kubelet does not end")
		}
	})
	return k
}

func TestAProcessPodBecomesReadyIsReachedAndGoesWhenDeleted(t *testing.T) {
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config", Namespace: "system"}, Data: map[string]string{"a.yaml": "a: 1"}}
	client := fake.NewSimpleClientset(guestPod("v1.2.3"), config)
	k := startKubelet(t, client)
	pods := client.CoreV1().Pods("system")
	var pod *corev1.Pod
	eventually(t, "the pod is ready", func() bool {
		var err error
		pod, err = pods.Get(t.Context(), "manager", metav1.GetOptions{})
		return err == nil && isReady(pod)
	})
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" {
		t.Errorf("the ready pod is %s at %q", pod.Status.Phase, pod.Status.PodIP)
	}
	conn, err := k.Dial(t.Context(), pod, 8080)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 200") {
		t.Errorf("the pod answers %q, %v", answer, err)
	}

	now := metav1.Now()
	pod.DeletionTimestamp = &now
	if _, err := pods.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is gone from the API", func() bool {
		_, err := pods.Get(t.Context(), "manager", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the pod's files are gone", func() bool {
		left, err := filepath.Glob(filepath.Join(k.Dir, "*"))
		return err == nil && len(left) == 0
	})
	if _, err := k.Dial(t.Context(), pod, 8080); err == nil {
		t.Error("the deleted pod was reached")
	}
}

func TestAPodOfAnotherVersionOrWithoutItsVolumesDoesNotStart(t *testing.T) {
	other := guestPod("v1.2.4")
	other.Name, other.UID = "other", "11111111-1111-1111-1111-111111111111"
	client := fake.NewSimpleClientset(guestPod("v1.2.3"), other)
	k := startKubelet(t, client)
	eventually(t, "both pods are known", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.pods) == 2
	})
	time.Sleep(500 * time.Millisecond) // two turns of the kubelet
	for _, name := range []string{"manager", "other"} {
		pod, err := client.CoreV1().Pods("system").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Status.Phase == corev1.PodRunning {
			t.Errorf("%s runs", name)
		}
		if _, err := k.Dial(t.Context(), pod, 8080); err == nil {
			t.Errorf("%s was reached", name)
		}
	}
	// What was missing comes: the pod starts.
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "config", Namespace: "system"}, Data: map[string]string{"a.yaml": "a: 1"}}
	if _, err := client.CoreV1().ConfigMaps("system").Create(t.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is ready", func() bool {
		pod, err := client.CoreV1().Pods("system").Get(t.Context(), "manager", metav1.GetOptions{})
		return err == nil && isReady(pod)
	})
}
