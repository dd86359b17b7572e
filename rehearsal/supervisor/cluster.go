package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"

	rayversioned "github.com/ray-project/kuberay/ray-operator/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"ray-on-aks/rehearsal/egress"
	"ray-on-aks/rehearsal/kuberay"
	"ray-on-aks/rehearsal/kwok"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/nodes"
	"ray-on-aks/rehearsal/plane"
	"ray-on-aks/rehearsal/pods"
	"ray-on-aks/rehearsal/process"
	"ray-on-aks/rehearsal/raydash"
	"ray-on-aks/rehearsal/realray"
)

// cluster is one control plane with all that makes it a cluster.
type cluster struct {
	id     string
	plane  *plane.Plane
	client kubernetes.Interface
	log    *slog.Logger
	stop   context.CancelFunc
	parts  sync.WaitGroup
	// isProcess says whether a pod is a process of this machine.
	isProcess func(*corev1.Pod) bool
	group     *process.Group
	kwok      *process.Process
}

// startCluster brings up everything but the nodes, which depend on the pools.
func (s *Supervisor) startCluster(ctx context.Context, id string) (*cluster, error) {
	log := s.log.With("cluster", id)
	sockets, err := s.dir.Sockets()
	if err != nil {
		return nil, err
	}
	egressSocket := filepath.Join(sockets, id+"-egress.sock")
	dir := s.dir.Join("planes", id)
	log.Info("starting control plane")
	p, err := plane.Start(ctx, dir, egressSocket, s.tools)
	if err != nil {
		// A port can be taken between finding and using it: once more, with others.
		log.Warn("starting a control plane", "error", err)
		if p, err = plane.Start(ctx, dir, egressSocket, s.tools); err != nil {
			return nil, fmt.Errorf("starting a control plane: %w", err)
		}
	}
	// The parts outlive the call and end with the cluster.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &cluster{id: id, plane: p, log: log, stop: cancel}
	if err := s.equip(ctx, c, dir, sockets, egressSocket); err != nil {
		c.shutdown()
		return nil, err
	}
	log.Info("control plane ready")
	return c, nil
}

// equip starts what is beside the control plane proper.
func (s *Supervisor) equip(ctx context.Context, c *cluster, dir, sockets, egressSocket string) error {
	config, err := c.plane.RESTConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	c.client, err = kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ray, err := rayversioned.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if c.group, err = process.NewGroup(dir); err != nil {
		return err
	}
	apiSocket := filepath.Join(sockets, c.id+"-api.sock")
	if err := c.relayAPI(ctx, apiSocket); err != nil {
		return err
	}
	kubelet := &pods.Kubelet{
		Dir: filepath.Join(dir, "pods"), Sockets: sockets, Self: s.self,
		APIServer: apiSocket, Proxy: egressSocket, Group: c.group, Log: c.log, Programs: s.programs,
	}
	c.isProcess = kubelet.Owns
	heads := raydash.New(s.dir.Outcomes(), c.log)
	if s.python != "" {
		heads.Real = &realray.Runtime{
			Python: s.python, Dir: s.dir.Join("ray"), Sockets: sockets, Storage: s.dir.Join("storage"),
			Mark: layout.EnvDir + "=" + string(s.dir), Group: c.group, Log: c.log,
		}
	}
	resolver, err := egress.NewResolver(ctx, c.client, kubelet, heads)
	if err != nil {
		return fmt.Errorf("watching the cluster's addresses: %w", err)
	}
	if err := egress.Serve(ctx, egressSocket, resolver, c.log); err != nil {
		return err
	}
	if err := c.startKWOK(s, dir); err != nil {
		return err
	}
	// Without any where the stack brings them.
	if err := kuberay.Install(ctx, objects, s.kuberay); err != nil {
		return fmt.Errorf("installing KubeRay: %w", err)
	}
	c.run("process pods", func() error { return kubelet.Run(ctx, c.client) })
	c.run("Ray heads", func() error { return heads.Run(ctx, c.client, ray) })
	return nil
}

// run keeps a part of the cluster; it ends with the cluster's context.
func (c *cluster) run(what string, f func() error) {
	c.parts.Go(func() {
		if err := f(); err != nil {
			c.log.Error("part ended", "part", what, "error", err)
		}
	})
}

// keepNodes starts following the pools of the named ManagedCluster.
func (c *cluster) keepNodes(ctx context.Context, controller *nodes.Controller) error {
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking for the API server's version: %w", err)
	}
	controller.Client, controller.Log, controller.Version = c.client, c.log, version.GitVersion
	c.run("nodes", func() error { return controller.Run(ctx) })
	return nil
}

func (c *cluster) startKWOK(s *Supervisor, dir string) error {
	var images []string
	for _, p := range s.programs {
		images = append(images, p.Image)
	}
	config := filepath.Join(dir, "kwok.yaml")
	err := kwok.WriteConfig(config, s.kwokModule, kwok.Exclusions{Images: images, Submitter: raydash.SubmitterContainer})
	if err != nil {
		return fmt.Errorf("configuring KWOK: %w", err)
	}
	c.kwok, err = c.group.Start(process.Spec{
		Name: "kwok", Path: s.tools["kwok"], Args: kwok.Args(c.plane.Kubeconfig, config),
	})
	return err
}

// relayAPI makes the API server reachable through a Unix socket, for process
// pods, which have no network but their own loopback.
func (c *cluster) relayAPI(ctx context.Context, socket string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listening for process pods: %w", err)
	}
	context.AfterFunc(ctx, func() {
		if err := listener.Close(); err != nil {
			c.log.Warn("closing the API relay", "error", err)
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed with the cluster
			}
			go c.relayOne(conn)
		}
	}()
	return nil
}

func (c *cluster) relayOne(conn net.Conn) {
	defer conn.Close()
	api, err := net.Dial("tcp", c.plane.Address)
	if err != nil {
		return // the pod sees a closed connection, as from a server that is down
	}
	defer api.Close()
	egress.Pipe(conn, api)
}

// shutdown ends everything of the cluster.
func (c *cluster) shutdown() {
	c.stop()
	c.parts.Wait()
	if c.kwok != nil {
		c.kwok.Stop(stopGrace)
	}
	c.plane.Stop()
}
