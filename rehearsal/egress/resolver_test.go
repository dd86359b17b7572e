package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

// recorder is a backend for the pods labelled real; it remembers what was
// dialled and answers a closed connection.
type recorder struct{ dialled string }

func (r *recorder) Owns(pod *corev1.Pod) bool { return pod.Labels["real"] != "" }

func (r *recorder) Dial(_ context.Context, pod *corev1.Pod, port int32) (net.Conn, error) {
	r.dialled = fmt.Sprintf("%s:%d", pod.Name, port)
	here, there := net.Pipe()
	return here, there.Close()
}

func pod(name, ip string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "system", Labels: labels},
		Status:     corev1.PodStatus{PodIP: ip},
	}
}

func service(name, clusterIP string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "system"},
		Spec:       corev1.ServiceSpec{ClusterIP: clusterIP, Ports: ports},
	}
}

// slice holds endpoints of a Service, "name" or "name!" for one not ready, and
// one named port.
func slice(service, suffix, portName string, port int32, pods ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: service + suffix, Namespace: "system", Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, name := range pods {
		name, unready := strings.CutSuffix(name, "!")
		ready := !unready
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: name},
		})
	}
	return s
}

// resolver answers a resolver of a small cluster and the backend that it has.
func resolver(t *testing.T) (*Resolver, *recorder) {
	t.Helper()
	process := map[string]string{"real": "yes"}
	objects := []runtime.Object{
		pod("manager", "10.245.0.2", process), pod("starting", "10.245.0.3", process),
		pod("worker", "10.244.0.9", nil), pod("pending", "", process),
		service("webhook", "10.0.0.20", corev1.ServicePort{Name: "https", Port: 443}, corev1.ServicePort{Name: "metrics", Port: 8080}),
		slice("webhook", "-0", "metrics", 9090, "starting!"),
		slice("webhook", "-1", "https", 9443, "starting!", "manager"),
		service("unnamed", "10.0.0.21", corev1.ServicePort{Port: 80}),
		slice("unnamed", "-0", "", 8000, "manager"),
		service("head", corev1.ClusterIPNone, corev1.ServicePort{Name: "dashboard", Port: 80}),
		slice("head", "-0", "dashboard", 8265, "manager"),
		service("unready", "10.0.0.22", corev1.ServicePort{Port: 80}),
		slice("unready", "-0", "", 8000, "starting!"),
		service("simulated", "10.0.0.23", corev1.ServicePort{Port: 80}),
		slice("simulated", "-0", "", 8000, "worker"),
		service("gone", "10.0.0.24", corev1.ServicePort{Port: 80}),
		slice("gone", "-0", "", 8000, "deleted-pod"),
	}
	backend := &recorder{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	r, err := NewResolver(ctx, fake.NewSimpleClientset(objects...), backend)
	if err != nil {
		t.Fatal(err)
	}
	return r, backend
}

func TestAddressesOfTheClusterLeadToThePodBehindThem(t *testing.T) {
	r, backend := resolver(t)
	for _, c := range []struct {
		name, host string
		port       int32
		want       string
	}{
		{"a pod's address", "10.245.0.2", 1234, "manager:1234"},
		{"a cluster IP, at the target port of the ready pod", "10.0.0.20", 443, "manager:9443"},
		{"a DNS name", "webhook.system.svc", 443, "manager:9443"},
		{"a full DNS name", "webhook.system.svc.cluster.local", 443, "manager:9443"},
		{"a port without a name", "10.0.0.21", 80, "manager:8000"},
		{"a headless Service, whose ports are the pod's", "head.system.svc", 8265, "manager:8265"},
		{"a headless Service's own port, which is not mapped", "head.system.svc.cluster.local", 80, "manager:80"},
	} {
		backend.dialled = ""
		conn, err := r.Dial(t.Context(), c.host, c.port)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if backend.dialled != c.want {
			t.Errorf("%s: reached %s, want %s", c.name, backend.dialled, c.want)
		}
	}
}

func TestEverythingElseIsRefused(t *testing.T) {
	r, backend := resolver(t)
	for _, c := range []struct {
		name, host string
		port       int32
		reason     string
	}{
		{"an address of no pod or Service", "10.0.0.99", 443, errUnknown.Error()},
		{"loopback", "127.0.0.1", 443, errUnknown.Error()},
		{"a name of the internet", "example.com", 443, errUnknown.Error()},
		{"a Service of another namespace", "webhook.default.svc", 443, errUnknown.Error()},
		{"a name that is no Service's", "webhook.system.pod", 443, errUnknown.Error()},
		{"no host, though a pod has no address yet", "", 443, errUnknown.Error()},
		{"the address that headless Services have", corev1.ClusterIPNone, 80, errUnknown.Error()},
		{"a port that the Service lacks", "10.0.0.20", 444, "no port 444"},
		{"a port whose only pod is not ready", "10.0.0.20", 8080, "no ready endpoint"},
		{"a Service without a ready pod", "unready.system.svc", 80, "no ready endpoint"},
		{"a pod that is gone", "10.0.0.24", 80, "no ready endpoint"},
		{"a simulated pod", "10.244.0.9", 80, "simulated"},
		{"a Service of a simulated pod", "10.0.0.23", 80, "simulated"},
	} {
		conn, err := r.Dial(t.Context(), c.host, c.port)
		if err == nil {
			t.Errorf("%s was reached: %s", c.name, backend.dialled)
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		} else if !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s is refused with %q, want %q", c.name, err, c.reason)
		}
	}
}

func TestAWatchThatCannotStartIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewResolver(ctx, fake.NewSimpleClientset()); !errors.Is(err, context.Canceled) {
		t.Errorf("answered %v", err)
	}
}
