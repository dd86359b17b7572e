// Package pods gives pods of a rehearsed cluster a local process. For the
// images that it has a program for it does a kubelet's work: volumes, service
// account token, environment, probes, status.
package pods

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ray-on-aks/rehearsal/livecache"
	"ray-on-aks/rehearsal/process"
)

// Program is what runs in place of an image.
type Program struct {
	// Image is the end of the image's repository, such as "kueue/kueue".
	Image string
	// Path is the local executable.
	Path string
	// Version is the executable's, such as "v0.17.1".
	Version string
}

// Kubelet runs process pods.
type Kubelet struct {
	// Dir is the folder for the pods' files.
	Dir string
	// Sockets is a folder with a short path.
	Sockets string
	// Self is the executable that runs Init for "pod-init <file>".
	Self string
	// APIServer and Proxy are the Unix sockets that process pods reach the API
	// server and other pods through.
	APIServer, Proxy string
	Programs         []Program
	Group            *process.Group
	Log              *slog.Logger

	client kubernetes.Interface
	mu     sync.Mutex
	pods   map[types.UID]*running
}

// program answers the program of the pod's first container and whether the
// pod is a process pod at all: one of the image's version, or else any of it.
func (k *Kubelet) program(pod *corev1.Pod) (found Program, ok bool) {
	repository, tag := splitImage(pod.Spec.Containers[0].Image)
	for _, p := range k.Programs {
		switch {
		case !strings.HasSuffix(repository, "/"+p.Image):
		case p.serves(tag):
			return p, true
		case !ok:
			found, ok = p, true
		}
	}
	return found, ok
}

// splitImage cuts an image reference into repository and tag.
func splitImage(image string) (repository, tag string) {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		return image[:colon], image[colon+1:]
	}
	return image, ""
}

// serves says whether the program may stand in for the tag: the same version,
// or the branch that the version was cut from, which the charts in module
// sources name.
func (p Program) serves(tag string) bool {
	minor := strings.TrimPrefix(p.Version, "v")
	minor = minor[:strings.LastIndexByte(minor, '.')]
	return tag == p.Version || tag == "release-"+minor
}

// Owns says whether the pod is a process pod.
func (k *Kubelet) Owns(pod *corev1.Pod) bool {
	_, ok := k.program(pod)
	return ok
}

// Dial connects to a port of a process pod.
func (k *Kubelet) Dial(_ context.Context, pod *corev1.Pod, port int32) (net.Conn, error) {
	k.mu.Lock()
	r := k.pods[pod.UID]
	k.mu.Unlock()
	if r == nil {
		return nil, fmt.Errorf("pod %s/%s has no process", pod.Namespace, pod.Name)
	}
	return DialInbound(r.socket, port)
}

// Run does the kubelet's work until ctx ends, then stops all processes.
func (k *Kubelet) Run(ctx context.Context, client kubernetes.Interface) error {
	k.mu.Lock() // Dial may be called already
	k.client, k.pods = client, map[types.UID]*running{}
	k.mu.Unlock()
	pods, err := livecache.Watch(ctx, client, client.CoreV1().Pods(""), &corev1.Pod{})
	if err != nil {
		return err
	}
	// The tick refreshes volumes and probes even when no pod changes.
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		k.sync(ctx, pods.List())
		select {
		case <-ctx.Done():
			k.stopAll()
			return nil
		case <-pods.Changed():
		case <-tick.C:
		}
	}
}

// sync starts, refreshes and stops processes to match the pods.
func (k *Kubelet) sync(ctx context.Context, pods []*corev1.Pod) {
	seen := map[types.UID]bool{}
	for _, pod := range pods {
		program, ok := k.program(pod)
		if !ok || pod.Spec.NodeName == "" {
			continue
		}
		seen[pod.UID] = true
		k.mu.Lock()
		r := k.pods[pod.UID]
		k.mu.Unlock()
		switch {
		case pod.DeletionTimestamp != nil:
			k.remove(ctx, pod, r)
		case r == nil:
			r = k.newRunning(pod, program, pods)
			k.mu.Lock()
			k.pods[pod.UID] = r
			k.mu.Unlock()
			r.sync(ctx, pod)
		default:
			r.sync(ctx, pod)
		}
	}
	k.mu.Lock()
	var gone []*running
	for uid, r := range k.pods {
		if !seen[uid] {
			gone = append(gone, r)
			delete(k.pods, uid)
		}
	}
	k.mu.Unlock()
	for _, r := range gone {
		r.stop()
	}
}

func (k *Kubelet) newRunning(pod *corev1.Pod, program Program, all []*corev1.Pod) *running {
	return &running{
		kubelet: k, program: program, pod: pod, ip: k.freeIP(pod, all),
		dir:    filepath.Join(k.Dir, string(pod.UID)),
		socket: filepath.Join(k.Sockets, string(pod.UID)[:13]+".sock"),
	}
}

// freeIP keeps a pod's address or finds one in a range that the simulated
// nodes do not give out.
func (k *Kubelet) freeIP(pod *corev1.Pod, all []*corev1.Pod) string {
	if pod.Status.PodIP != "" {
		return pod.Status.PodIP
	}
	taken := map[string]bool{}
	for _, p := range all {
		taken[p.Status.PodIP] = true
	}
	// What was given out may not be in any status yet.
	k.mu.Lock()
	for _, r := range k.pods {
		taken[r.ip] = true
	}
	k.mu.Unlock()
	for n := 1; ; n++ {
		if ip := fmt.Sprintf("10.245.%d.%d", n/250, 1+n%250); !taken[ip] {
			return ip
		}
	}
}

func (k *Kubelet) stopAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for uid, r := range k.pods {
		r.stop()
		delete(k.pods, uid)
	}
}

// remove ends the pod's process and confirms the deletion to the API server.
func (k *Kubelet) remove(ctx context.Context, pod *corev1.Pod, r *running) {
	if r != nil {
		r.stop()
	}
	if err := k.forget(ctx, pod); err != nil {
		k.Log.Warn("confirming a pod's deletion", "pod", pod.Name, "error", err)
		return
	}
	k.mu.Lock()
	delete(k.pods, pod.UID)
	k.mu.Unlock()
	if err := os.RemoveAll(filepath.Join(k.Dir, string(pod.UID))); err != nil {
		k.Log.Warn("removing a pod's files", "pod", pod.Name, "error", err)
	}
}
