package pods

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ray-on-aks/rehearsal/process"
)

const (
	// apiAddress is where a process pod finds the API server.
	apiAddress = "127.0.0.1:443"
	// proxyAddress is where a process pod finds the proxy to other pods.
	proxyAddress = "127.0.0.1:3128"
	binaryPath   = "/manager"
)

// running is a process pod.
type running struct {
	kubelet *Kubelet
	program Program
	pod     *corev1.Pod
	ip      string
	dir     string
	socket  string

	process     *process.Process
	tokenDue    time.Time
	volumesDue  time.Time
	lastProblem string
	ready       bool
	probeDue    time.Time
}

// sync brings the pod one step further: volumes, process, probe, status.
func (r *running) sync(ctx context.Context, pod *corev1.Pod) {
	r.pod = pod
	if err := r.step(ctx); err != nil {
		if err.Error() != r.lastProblem {
			r.kubelet.Log.Warn("process pod waits", "pod", pod.Name, "reason", err)
		}
		r.lastProblem = err.Error()
		return
	}
	r.lastProblem = ""
}

func (r *running) step(ctx context.Context) error {
	if _, tag := splitImage(r.pod.Spec.Containers[0].Image); !r.program.serves(tag) {
		return fmt.Errorf("image %s wants another version than the rehearsal built (%s)",
			r.pod.Spec.Containers[0].Image, r.program.Version)
	}
	if time.Now().After(r.volumesDue) {
		if err := r.writeVolumes(ctx); err != nil {
			return err
		}
		// A kubelet takes up to a minute; a rehearsal has no time for that.
		r.volumesDue = time.Now().Add(time.Second)
	}
	if r.process == nil {
		if err := r.start(ctx); err != nil {
			return err
		}
	}
	if time.Now().After(r.probeDue) {
		r.ready = r.probe(ctx)
		r.probeDue = time.Now()
		if r.ready {
			r.probeDue = r.probeDue.Add(2 * time.Second)
		}
	}
	return r.report(ctx)
}

// start runs the container's command in a sandbox.
func (r *running) start(ctx context.Context) error {
	container := r.pod.Spec.Containers[0]
	sandbox := Sandbox{
		Root:     filepath.Join(r.dir, "root"),
		Mounts:   map[string]string{},
		Command:  slices.Concat(container.Command, container.Args),
		Inbound:  r.socket,
		Outbound: map[string]string{apiAddress: r.kubelet.APIServer, proxyAddress: r.kubelet.Proxy},
	}
	if len(container.Command) == 0 {
		sandbox.Command = append([]string{binaryPath}, container.Args...)
	}
	sandbox.Mounts[sandbox.Command[0]] = r.program.Path
	for _, m := range container.VolumeMounts {
		sandbox.Mounts[m.MountPath] = filepath.Join(r.volume(m.Name), m.SubPath)
	}
	env, err := r.environment(ctx, container)
	if err != nil {
		return err
	}
	sandbox.Env = env
	if err := os.MkdirAll(sandbox.Root, 0o755); err != nil {
		return err
	}
	file := filepath.Join(r.dir, "sandbox.json")
	if err := sandbox.WriteFile(file); err != nil {
		return err
	}
	r.process, err = r.kubelet.Group.Start(process.Spec{
		Name: "pod-" + r.pod.Name, Path: r.kubelet.Self, Args: []string{"pod-init", file}, Attr: Attr(),
	})
	return err
}

// environment is the container's own, after what a kubelet and the rehearsal
// add: the API server's address and the proxy to other pods.
func (r *running) environment(ctx context.Context, container corev1.Container) ([]string, error) {
	host, port, err := net.SplitHostPort(apiAddress)
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port,
		"HTTP_PROXY": "http://" + proxyAddress, "HOSTNAME": r.pod.Name, "HOME": "/", "PATH": "/",
	}
	own, err := Environment(ctx, r.kubelet.client, r.pod, container)
	if err != nil {
		return nil, err
	}
	maps.Copy(env, own)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// probe makes the container's readiness request. Its delays are left out: a
// pod is ready when its process answers, no sooner and no later.
func (r *running) probe(ctx context.Context) bool {
	probe := r.pod.Spec.Containers[0].ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		return true
	}
	port := probe.HTTPGet.Port.IntVal
	for _, p := range r.pod.Spec.Containers[0].Ports {
		if p.Name == probe.HTTPGet.Port.StrVal && p.Name != "" {
			port = p.ContainerPort
		}
	}
	client := http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return DialInbound(r.socket, port)
			},
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://pod/"+strings.TrimPrefix(probe.HTTPGet.Path, "/"), nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode < http.StatusBadRequest
}

// stop ends the process; the grace is shorter than a pod's, since controllers
// hold nothing that a kill could lose.
func (r *running) stop() {
	if r.process == nil {
		return
	}
	r.process.Stop(5 * time.Second)
	r.process = nil
	if err := os.Remove(r.socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.kubelet.Log.Warn("removing a pod's socket", "pod", r.pod.Name, "error", err)
	}
}
