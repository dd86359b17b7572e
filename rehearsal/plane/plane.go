// Package plane runs a real Kubernetes control plane on loopback: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, without root.
package plane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"ray-on-aks/rehearsal/process"
)

const (
	// serviceRange is AKS's default range for Services.
	serviceRange = "10.0.0.0/16"
	// serviceIP is the address of the Service kubernetes.default.
	serviceIP = "10.0.0.1"
	stopGrace = 10 * time.Second
)

// Plane is one control plane.
type Plane struct {
	// Dir holds keys, data and logs.
	Dir string
	// Kubeconfig is the path of the cluster administrator's kubeconfig.
	Kubeconfig string
	// Address is the API server's host:port.
	Address string

	egress    string
	tools     map[string]string
	etcd      string
	group     *process.Group
	processes []*process.Process
}

// Start brings the control plane in dir up, on the data and keys of an earlier
// run if there are any, and returns when the API server is ready. The API
// server expects the proxy to pods and Services at the Unix socket egress.
func Start(ctx context.Context, dir, egress string, tools map[string]string) (*Plane, error) {
	p := &Plane{Dir: dir, Kubeconfig: filepath.Join(dir, "kubeconfig"), egress: egress, tools: tools}
	if err := writePKI(p.pki("")); err != nil {
		return nil, fmt.Errorf("making keys and certificates: %w", err)
	}
	ports, err := p.ports(3)
	if err != nil {
		return nil, err
	}
	p.Address = "127.0.0.1:" + ports[0]
	p.etcd = "127.0.0.1:" + ports[1]
	if p.group, err = process.NewGroup(dir); err != nil {
		return nil, err
	}
	if err := p.writeConfigs(); err != nil {
		return nil, fmt.Errorf("writing the control plane's configuration: %w", err)
	}
	if err := p.start(ctx, ports[2]); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// Stop ends the control plane, API server first so that nothing is written
// while etcd goes.
func (p *Plane) Stop() {
	for i := len(p.processes) - 1; i >= 0; i-- {
		p.processes[i].Stop(stopGrace)
	}
	p.processes = nil
}

func (p *Plane) pki(name string) string { return filepath.Join(p.Dir, "pki", name) }

func (p *Plane) start(ctx context.Context, etcdPeerPort string) error {
	if err := p.run("etcd", "etcd", p.etcdArgs(etcdPeerPort)...); err != nil {
		return err
	}
	if err := p.run("kube-apiserver", "kube-apiserver", p.apiserverArgs()...); err != nil {
		return err
	}
	if err := p.waitReady(ctx); err != nil {
		return err
	}
	if err := p.run("kube-controller-manager", "kube-controller-manager",
		"--kubeconfig="+p.kubeconfig("controller-manager"), "--leader-elect=false", "--secure-port=0",
		"--service-account-private-key-file="+p.pki("service-account.key"), "--root-ca-file="+p.pki("ca.crt"),
		"--use-service-account-credentials=true",
		// The rehearsal has one process a controller; slow retries are only waiting.
		"--concurrent-namespace-syncs=20"); err != nil {
		return err
	}
	return p.run("kube-scheduler", "kube-scheduler",
		"--kubeconfig="+p.kubeconfig("scheduler"), "--leader-elect=false", "--secure-port=0")
}

func (p *Plane) run(name, tool string, args ...string) error {
	started, err := p.group.Start(process.Spec{Name: name, Path: p.tools[tool], Args: args})
	if err != nil {
		return err
	}
	p.processes = append(p.processes, started)
	return nil
}

func (p *Plane) etcdArgs(peerPort string) []string {
	peer := "http://127.0.0.1:" + peerPort
	return []string{
		"--name=rehearsal", "--data-dir=" + filepath.Join(p.Dir, "etcd"), "--log-level=warn",
		"--listen-client-urls=https://" + p.etcd, "--advertise-client-urls=https://" + p.etcd,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=rehearsal=" + peer,
		"--cert-file=" + p.pki("etcd.crt"), "--key-file=" + p.pki("etcd.key"),
		"--client-cert-auth=true", "--trusted-ca-file=" + p.pki("ca.crt"),
		// Survives every crash but the machine's own, and is much faster.
		"--unsafe-no-fsync=true",
	}
}

func (p *Plane) apiserverArgs() []string {
	_, port, _ := strings.Cut(p.Address, ":")
	return []string{
		"--bind-address=127.0.0.1", "--secure-port=" + port,
		"--etcd-servers=https://" + p.etcd, "--etcd-cafile=" + p.pki("ca.crt"),
		"--etcd-certfile=" + p.pki("etcd-client.crt"), "--etcd-keyfile=" + p.pki("etcd-client.key"),
		"--service-cluster-ip-range=" + serviceRange, "--authorization-mode=Node,RBAC", "--allow-privileged=true",
		"--client-ca-file=" + p.pki("ca.crt"),
		"--tls-cert-file=" + p.pki("apiserver.crt"), "--tls-private-key-file=" + p.pki("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.pki("service-account.key"),
		"--service-account-signing-key-file=" + p.pki("service-account.key"),
		"--requestheader-client-ca-file=" + p.pki("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.pki("front-proxy.crt"), "--proxy-client-key-file=" + p.pki("front-proxy.key"),
		"--egress-selector-config-file=" + filepath.Join(p.Dir, "egress.yaml"),
		// A loopback address is no valid endpoint; process pods are given the
		// API server's address by their environment instead.
		"--endpoint-reconciler-type=none",
	}
}

// waitReady polls /readyz: an API server with fresh keys and an empty etcd
// needs 5 to 10 s on two idle cores.
func (p *Plane) waitReady(ctx context.Context) error {
	config, err := p.RESTConfig()
	if err != nil {
		return err
	}
	config.Timeout = 2 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the API server (log: %s): %w", p.processes[len(p.processes)-1].LogPath(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// RESTConfig answers the administrator's client configuration.
func (p *Plane) RESTConfig() (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
}

// Remove deletes the data of a stopped control plane.
func (p *Plane) Remove() error { return os.RemoveAll(p.Dir) }
