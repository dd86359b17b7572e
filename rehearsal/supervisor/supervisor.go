// Package supervisor is the part of a rehearsal that stays: it follows the
// emulated cloud and runs a real control plane for each ManagedCluster in it.
package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"ray-on-aks/rehearsal/atomicfile"
	"ray-on-aks/rehearsal/cloud"
	"ray-on-aks/rehearsal/kuberay"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/nodes"
	"ray-on-aks/rehearsal/pods"
	"ray-on-aks/rehearsal/process"
	"ray-on-aks/rehearsal/toolchain"
)

const (
	// Record is the name under which the supervisor's process is recorded.
	Record    = "supervisor"
	stopGrace = 10 * time.Second
	// planeFile holds the id of the control plane that a cluster runs on, so
	// that a restarted supervisor finds its data again.
	planeFile = "plane"
)

// errCloud says that the emulated cloud could not be read.
var errCloud = errors.New("reading the emulated cloud")

// Supervisor runs the clusters of one rehearsal.
type Supervisor struct {
	dir        layout.Dir
	self       string
	tools      map[string]string
	programs   []pods.Program
	kwokModule string
	kuberay    []*unstructured.Unstructured
	// python is the environment of a real Ray; empty where Ray is simulated.
	python string
	store  *cloud.Store
	log    *slog.Logger

	clusters map[string]*cluster
	// spare is a control plane made ahead of the first cluster.
	spare *cluster
	// began says that there was a cluster: from then on planes are made on demand.
	began bool
}

// Options say what the clusters are made of.
type Options struct {
	// Python is an environment that has Ray: Ray's pods are real. Empty: simulated.
	Python string
	// Upgrades leaves KubeRay to the stack, and lets the operators' earlier releases
	// run beside the pinned ones. Without it KubeRay is preinstalled.
	Upgrades bool
}

// New prepares a supervisor: it finds the tools and renders the manifests.
func New(ctx context.Context, dir layout.Dir, tools *toolchain.Toolchain, options Options, log *slog.Logger) (*Supervisor, error) {
	s := &Supervisor{dir: dir, store: cloud.Open(dir.Cloud()), python: options.Python, log: log, clusters: map[string]*cluster{}}
	var err error
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if s.tools, err = tools.Ensure(ctx); err != nil {
		return nil, err
	}
	if err := s.addPrograms(ctx, s.tools, tools.Module); err != nil {
		return nil, err
	}
	if options.Upgrades {
		earlier, err := tools.EnsureEarlier(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.addPrograms(ctx, earlier, tools.EarlierModule); err != nil {
			return nil, err
		}
	}
	if s.kwokModule, _, err = tools.Module(ctx, toolchain.KWOKModule); err != nil {
		return nil, err
	}
	if options.Upgrades {
		return s, nil
	}
	kuberayModule, _, err := tools.Module(ctx, toolchain.KubeRayModule)
	if err != nil {
		return nil, err
	}
	s.kuberay, err = kuberay.Build(kuberayModule, dir.Join("kuberay"))
	return s, err
}

// Run works until ctx ends.
func (s *Supervisor) Run(ctx context.Context) error {
	if err := process.Record(string(s.dir), Record); err != nil {
		return fmt.Errorf("recording the supervisor: %w", err)
	}
	if err := s.tidy(); err != nil {
		return fmt.Errorf("tidying up after an earlier supervisor: %w", err)
	}
	defer s.shutdown()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.sync(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errCloud):
			// A test or a user may be writing the file by hand.
			s.log.Warn("waiting for the emulated cloud", "error", err)
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sync starts and stops clusters to match the cloud. Before there is any, one
// control plane is made ahead, while the program is still being built.
func (s *Supervisor) sync(ctx context.Context) error {
	var names []string
	err := s.store.View(func(r cloud.Resources) error {
		names = nodes.Clusters(r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errCloud, err)
	}
	for name, c := range s.clusters {
		if !slices.Contains(names, name) {
			if err := s.drop(name, c); err != nil {
				return fmt.Errorf("removing cluster %s: %w", name, err)
			}
		}
	}
	for _, name := range names {
		if s.clusters[name] == nil {
			if err := s.adopt(ctx, name); err != nil {
				return fmt.Errorf("bringing up cluster %s: %w", name, err)
			}
		}
	}
	s.began = s.began || len(names) > 0
	if !s.began && s.spare == nil {
		if s.spare, err = s.startCluster(ctx, newID()); err != nil {
			return err
		}
	}
	return nil
}

// adopt gives the named cluster a control plane: its former one after a
// restart, the spare, or a new one. The cluster can be used once its
// kubeconfig is published.
func (s *Supervisor) adopt(ctx context.Context, name string) error {
	file := filepath.Join(s.dir.Cluster(name), planeFile)
	former, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c := s.spare
	switch id := strings.TrimSpace(string(former)); {
	case id != "":
		c, err = s.startCluster(ctx, id)
	case c == nil:
		c, err = s.startCluster(ctx, newID())
	default:
		s.spare, err = nil, nil
	}
	if err != nil {
		return err
	}
	s.clusters[name] = c
	if err := os.MkdirAll(s.dir.Cluster(name), 0o755); err != nil {
		return err
	}
	if err := atomicfile.Write(file, []byte(c.id+"\n")); err != nil {
		return err
	}
	clusterCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := c.stop
	c.stop = func() { cancel(); stop() }
	if err := c.keepNodes(clusterCtx, &nodes.Controller{Cluster: name, Store: s.store, Process: c.isProcess}); err != nil {
		return err
	}
	s.log.Info("cluster up", "name", name, "plane", c.id)
	return c.plane.Publish(s.dir.ClusterKubeconfig(name))
}

// drop ends a deleted cluster and wipes it, as AKS does.
func (s *Supervisor) drop(name string, c *cluster) error {
	s.log.Info("cluster deleted", "name", name)
	delete(s.clusters, name)
	c.shutdown()
	return errors.Join(c.plane.Remove(), os.RemoveAll(s.dir.Cluster(name)))
}

// shutdown ends all clusters; their data stays for the next start.
func (s *Supervisor) shutdown() {
	for name, c := range s.clusters {
		if err := os.Remove(s.dir.ClusterKubeconfig(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.log.Warn("withdrawing a kubeconfig", "cluster", name, "error", err)
		}
		c.shutdown()
	}
	if s.spare != nil {
		s.spare.shutdown()
		if err := s.spare.plane.Remove(); err != nil {
			s.log.Warn("removing the spare control plane", "error", err)
		}
	}
}

func newID() string {
	b := make([]byte, 4)
	// crypto/rand.Read never fails on the platforms that Go supports.
	if _, err := rand.Read(b); err != nil {
		panic(err)
	}
	return hex.EncodeToString(b)
}
