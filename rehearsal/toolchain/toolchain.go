// Package toolchain builds the third-party programs of a rehearsal from pinned,
// checksummed Go modules, once per version, into the user's cache folder.
//
// It depends on nothing but the standard library, so that the longest build of
// all can start seconds after a fresh clone.
package toolchain

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Tool is one program of the toolchain.
type Tool struct {
	// Name of the executable.
	Name string
	// Set is the folder under sets/ whose go.mod pins the build.
	Set string
	// Package is the main package; "." is the set's own folder.
	Package string
	// Module is the module whose version in the set's go.mod is the tool's.
	Module string
	// Version overrides the module's version, where the module has only a
	// pseudo-version or the binary reports another number.
	Version string
	// LDFlags are linked in beside -s -w; VERSION and MINOR stand for the version
	// and its second number.
	LDFlags string
	// VersionArgs make an installed copy print its version; empty: never look
	// for an installed copy.
	VersionArgs []string
	// Plugin is the name of a Pulumi provider, which an installed Pulumi keeps
	// in its own folder.
	Plugin string
	// Prepare adds generated files to the build folder before the build.
	Prepare func(ctx context.Context, dir, version string) error
}

const kubernetesLDFlags = "-X k8s.io/component-base/version.gitVersion=VERSION" +
	" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=MINOR" +
	" -X k8s.io/component-base/version.gitTreeState=clean" +
	" -X k8s.io/client-go/pkg/version.gitVersion=VERSION"

// Tools is the toolchain in build order: the longest build first, alone, and
// then by set, since tools of one set share most of their packages.
func Tools() []Tool {
	kube := func(name string) Tool {
		return Tool{
			Name: name, Set: "kubernetes", Package: "k8s.io/kubernetes/cmd/" + name,
			Module: "k8s.io/kubernetes", LDFlags: kubernetesLDFlags, VersionArgs: []string{"--version"},
		}
	}
	return []Tool{
		{
			Name: "pulumi-resource-kubernetes", Set: "pulumi-kubernetes", Package: ".",
			Module: "github.com/pulumi/pulumi-kubernetes/provider/v4", Version: "v" + KubernetesProviderVersion,
			LDFlags: "-X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version=" + KubernetesProviderVersion,
			Prepare: prepareKubernetesProvider, Plugin: "kubernetes",
		},
		{
			Name: "pulumi", Set: "pulumi", Package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
			Module:      "github.com/pulumi/pulumi/pkg/v3",
			LDFlags:     "-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=VERSION",
			VersionArgs: []string{"version"},
		},
		kube("kube-apiserver"),
		kube("kube-controller-manager"),
		kube("kube-scheduler"),
		{
			Name: "etcd", Set: "kubernetes", Package: "go.etcd.io/etcd/server/v3",
			Module: "go.etcd.io/etcd/server/v3", VersionArgs: []string{"--version"},
		},
		{
			Name: "kueue", Set: "kubernetes", Package: "sigs.k8s.io/kueue/cmd/kueue",
			Module: "sigs.k8s.io/kueue", LDFlags: "-X sigs.k8s.io/kueue/pkg/version.GitVersion=VERSION",
		},
		{
			Name: "kuberay-operator", Set: "kuberay", Package: "github.com/ray-project/kuberay/ray-operator",
			Module: "github.com/ray-project/kuberay/ray-operator",
		},
		{
			Name: "kwok", Set: "kwok", Package: "sigs.k8s.io/kwok/cmd/kwok",
			Module: "sigs.k8s.io/kwok", LDFlags: "-X sigs.k8s.io/kwok/pkg/consts.Version=VERSION", VersionArgs: []string{"--version"},
		},
	}
}

// Earlier are releases of the operators that came before those of Tools. Only an
// upgrade needs them.
func Earlier() []Tool {
	var earlier []Tool
	for _, tool := range Tools() {
		if set, ok := earlierSets[tool.Module]; ok {
			tool.Set = set
			earlier = append(earlier, tool)
		}
	}
	return earlier
}

// Toolchain finds or builds the tools.
type Toolchain struct {
	// Sets is the folder that holds the pinned module sets.
	Sets string
	// Cache is the folder that built tools are kept in, shared by clones.
	Cache string
	// Log receives progress.
	Log io.Writer
}

// New answers the toolchain of the checkout at root, cached in the user's
// cache folder.
func New(root string, log io.Writer) (*Toolchain, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("finding the user's cache folder: %w", err)
	}
	return &Toolchain{
		Sets:  filepath.Join(root, "rehearsal", "toolchain", "sets"),
		Cache: filepath.Join(cache, "ray-on-aks", "toolchain"),
		Log:   log,
	}, nil
}

// Ensure answers the path of every tool by name, building what is missing.
func (t *Toolchain) Ensure(ctx context.Context) (map[string]string, error) {
	return t.ensureAll(ctx, Tools())
}

// EnsureEarlier does so for the operators' earlier releases.
func (t *Toolchain) EnsureEarlier(ctx context.Context) (map[string]string, error) {
	return t.ensureAll(ctx, Earlier())
}

func (t *Toolchain) ensureAll(ctx context.Context, tools []Tool) (map[string]string, error) {
	if err := os.MkdirAll(t.Cache, 0o755); err != nil {
		return nil, fmt.Errorf("creating the toolchain's cache: %w", err)
	}
	paths := map[string]string{}
	for i, tool := range tools {
		path, err := t.ensure(ctx, tool, fmt.Sprintf("[%d/%d]", i+1, len(tools)))
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", tool.Name, err)
		}
		paths[tool.Name] = path
	}
	return paths, nil
}

func (t *Toolchain) ensure(ctx context.Context, tool Tool, step string) (string, error) {
	version, err := t.version(tool)
	if err != nil {
		return "", err
	}
	key, err := t.key(tool, version)
	if err != nil {
		return "", err
	}
	path := filepath.Join(t.Cache, fmt.Sprintf("%s-%s-%s", tool.Name, version, key), tool.Name)
	if isExecutable(path) {
		return path, nil
	}
	if found := installed(ctx, tool, version); found != "" {
		fmt.Fprintf(t.Log, "toolchain %s %s %s: using %s\n", step, tool.Name, version, found)
		return found, nil
	}
	unlock, err := t.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isExecutable(path) { // another clone built it meanwhile
		return path, nil
	}
	start := time.Now()
	fmt.Fprintf(t.Log, "toolchain %s %s %s: building\n", step, tool.Name, version)
	stop := heartbeat(t.Log, fmt.Sprintf("toolchain %s %s", step, tool.Name))
	err = t.build(ctx, tool, version, path)
	stop()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(t.Log, "toolchain %s %s %s: built in %.0f s\n", step, tool.Name, version, time.Since(start).Seconds())
	return path, nil
}

// heartbeat prints how long a step has run, every half minute, until stopped.
func heartbeat(w io.Writer, what string) (stop func()) {
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		start, tick := time.Now(), time.NewTicker(30*time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(w, "%s: %.0f s so far\n", what, time.Since(start).Seconds())
			}
		}
	}()
	return func() { close(done); <-finished }
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// ldflags fills the version into the tool's linker flags.
func (t Tool) ldflags(version string) string {
	_, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := strings.NewReplacer("VERSION", version, "MINOR", minor).Replace(t.LDFlags)
	return strings.TrimSpace("-s -w " + flags)
}
