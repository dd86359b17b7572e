package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes"

	"ray-on-aks/rehearsal/livecache"
)

// Backend reaches the ports of the pods that it stands in for.
type Backend interface {
	// Owns says whether the pod is this backend's.
	Owns(pod *corev1.Pod) bool
	// Dial connects to a port of the pod.
	Dial(ctx context.Context, pod *corev1.Pod, port int32) (net.Conn, error)
}

// Resolver finds what stands behind an address of the cluster. It knows the
// cluster's own pods and Services and nothing else.
type Resolver struct {
	pods     *livecache.Cache[*corev1.Pod]
	services *livecache.Cache[*corev1.Service]
	slices   *livecache.Cache[*discoveryv1.EndpointSlice]
	backends []Backend
}

// errUnknown means that the address is none of the cluster's.
var errUnknown = errors.New("no pod or Service of this cluster has that address")

// NewResolver watches the cluster until ctx ends.
func NewResolver(ctx context.Context, client kubernetes.Interface, backends ...Backend) (*Resolver, error) {
	r := &Resolver{backends: backends}
	var err error
	if r.pods, err = livecache.Watch(ctx, client, client.CoreV1().Pods(""), &corev1.Pod{}); err != nil {
		return nil, err
	}
	if r.services, err = livecache.Watch(ctx, client, client.CoreV1().Services(""), &corev1.Service{}); err != nil {
		return nil, err
	}
	r.slices, err = livecache.Watch(ctx, client, client.DiscoveryV1().EndpointSlices(""), &discoveryv1.EndpointSlice{})
	return r, err
}

// Dial connects to host, which is a pod's address, a Service's address or a
// Service's DNS name, at port.
func (r *Resolver) Dial(ctx context.Context, host string, port int32) (net.Conn, error) {
	if service := r.service(host); service != nil {
		pod, podPort, err := r.endpoint(service, port)
		if err != nil {
			return nil, fmt.Errorf("service %s/%s: %w", service.Namespace, service.Name, err)
		}
		return r.dialPod(ctx, pod, podPort)
	}
	for _, pod := range r.pods.List() {
		if pod.Status.PodIP == host && host != "" {
			return r.dialPod(ctx, pod, port)
		}
	}
	return nil, errUnknown
}

func (r *Resolver) dialPod(ctx context.Context, pod *corev1.Pod, port int32) (net.Conn, error) {
	for _, b := range r.backends {
		if b.Owns(pod) {
			return b.Dial(ctx, pod, port)
		}
	}
	return nil, fmt.Errorf("pod %s/%s is simulated: nothing listens at port %d", pod.Namespace, pod.Name, port)
}

// service finds a Service by cluster IP or by <name>.<namespace>.svc[.domain].
func (r *Resolver) service(host string) *corev1.Service {
	labels := strings.Split(host, ".")
	named := len(labels) >= 3 && labels[2] == "svc"
	for _, s := range r.services.List() {
		if named && s.Name == labels[0] && s.Namespace == labels[1] {
			return s
		}
		if s.Spec.ClusterIP == host && host != corev1.ClusterIPNone && host != "" {
			return s
		}
	}
	return nil
}

// endpoint picks a ready pod behind the Service's port. A headless Service has
// no port mapping: there the port is the pod's.
func (r *Resolver) endpoint(service *corev1.Service, port int32) (*corev1.Pod, int32, error) {
	headless := service.Spec.ClusterIP == corev1.ClusterIPNone
	i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if i < 0 && !headless {
		return nil, 0, fmt.Errorf("has no port %d", port)
	}
	for _, slice := range r.slices.List() {
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		target, mapped := port, headless
		if !headless {
			target, mapped = targetPort(slice, service.Spec.Ports[i].Name)
		}
		if !mapped {
			continue // its pods do not have the port
		}
		for _, e := range slice.Endpoints {
			if pod := r.readyPod(slice.Namespace, e); pod != nil {
				return pod, target, nil
			}
		}
	}
	return nil, 0, errors.New("no ready endpoint")
}

// targetPort answers the port of the slice's pods that a Service's port of that
// name leads to.
func targetPort(slice *discoveryv1.EndpointSlice, name string) (int32, bool) {
	for _, p := range slice.Ports {
		if p.Name != nil && *p.Name == name && p.Port != nil {
			return *p.Port, true
		}
	}
	return 0, false
}

func (r *Resolver) readyPod(namespace string, e discoveryv1.Endpoint) *corev1.Pod {
	if e.Conditions.Ready == nil || !*e.Conditions.Ready || e.TargetRef == nil {
		return nil
	}
	for _, pod := range r.pods.List() {
		if pod.Namespace == namespace && pod.Name == e.TargetRef.Name {
			return pod
		}
	}
	return nil
}
