// Package engine runs the pulumi command for a rehearsal: the real engine with
// a file backend of its own, the real Kubernetes provider, and the emulated
// providers in the places of azure-native and random.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/toolchain"
)

const (
	// passphrase encrypts nothing that is secret: the secrets of a rehearsal
	// end with it. It is fixed so that the stack file's salt can be committed.
	passphrase = "rehearsal"
	// chart is where the rehearsal's stack file looks for Kueue's chart,
	// relative to the project.
	chart = ".rehearsal/charts/kueue"
	// BuildDirEnv tells the language host where to keep the program's binary.
	BuildDirEnv = "PULUMI_GO_BUILD_DIR"
)

// plugins are the providers that the program asks for.
var plugins = []struct{ name, version, tool string }{
	{"kubernetes", toolchain.KubernetesProviderVersion, "pulumi-resource-kubernetes"},
	{"azure-native", "2.90.0", ""},
	{"random", "4.18.0", ""},
}

// Engine runs pulumi on one stack of the project.
type Engine struct {
	// Root is the project's folder.
	Root string
	// Dir is the rehearsal's.
	Dir layout.Dir
	// Stack is the stack's name.
	Stack string
	// Out and Err take the command's output where it is not returned.
	Out, Err io.Writer

	pulumi string
}

// New prepares the engine: plugins, language host, chart and stack. bin is the
// folder with the rehearsal's own programs.
func New(ctx context.Context, root, bin string, dir layout.Dir, tools *toolchain.Toolchain, stack string) (*Engine, error) {
	paths, err := tools.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{Root: root, Dir: dir, Stack: stack, Out: os.Stdout, Err: os.Stderr}
	for _, p := range plugins {
		name := "pulumi-resource-" + p.name
		from := filepath.Join(bin, name)
		if p.tool != "" {
			from = paths[p.tool]
		}
		to := dir.Join("pulumi", "plugins", fmt.Sprintf("resource-%s-v%s", p.name, p.version), name)
		if err := link(from, to); err != nil {
			return nil, fmt.Errorf("installing provider %s: %w", p.name, err)
		}
	}
	// The language host is found without a warning beside the engine.
	e.pulumi = dir.Join("bin", "pulumi")
	if err := link(paths["pulumi"], e.pulumi); err != nil {
		return nil, fmt.Errorf("installing pulumi: %w", err)
	}
	host := "pulumi-language-go"
	if err := link(filepath.Join(bin, host), dir.Join("bin", host)); err != nil {
		return nil, fmt.Errorf("installing the language host: %w", err)
	}
	module, _, err := tools.Module(ctx, toolchain.KueueModule)
	if err != nil {
		return nil, err
	}
	if err := stageChart(filepath.Join(module, "charts", "kueue"), filepath.Join(root, chart)); err != nil {
		return nil, fmt.Errorf("staging Kueue's chart: %w", err)
	}
	if err := os.MkdirAll(dir.Join("state"), 0o700); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir.Join("program"), 0o755); err != nil {
		return nil, err
	}
	return e, nil
}

// Env is the environment that makes pulumi the rehearsal's.
func (e *Engine) Env() map[string]string {
	return map[string]string{
		"PULUMI_HOME":                                 e.Dir.Join("pulumi"),
		"PULUMI_BACKEND_URL":                          "file://" + e.Dir.Join("state"),
		"PULUMI_CONFIG_PASSPHRASE":                    passphrase,
		"PULUMI_SKIP_UPDATE_CHECK":                    "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		"PULUMI_STACK":                                "",
		"PULUMI_ACCESS_TOKEN":                         "",
		"CGO_ENABLED":                                 "0",
		"GOFLAGS":                                     "-trimpath -buildvcs=false",
		BuildDirEnv:                                   e.Dir.Join("program"),
		layout.EnvDir:                                 string(e.Dir),
		// Nothing of the user's cloud or cluster may shine through.
		"KUBECONFIG": "/dev/null",
	}
}

// hidden are the variables of a user's Azure login and proxies, by prefix.
var hidden = []string{"ARM_", "AZURE_", "HTTP_PROXY=", "HTTPS_PROXY=", "http_proxy=", "https_proxy="}

func (e *Engine) environ() []string {
	own := e.Env()
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := own[name]
		return replaced || slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(kv, h) })
	})
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, name+"="+own[name])
	}
	return env
}

// Command answers a pulumi command that is ready to run in the project.
func (e *Engine) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.pulumi, append(args, "--non-interactive")...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = e.Root, e.environ(), e.Out, e.Err
	// An interrupt lets the engine write its state.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// Init creates the stack if need be. Its configuration is a copy of the
// project's stack file, since the engine writes into the file that it uses;
// fresh makes the copy anew.
func (e *Engine) Init(ctx context.Context, fresh bool) error {
	copied, err := e.copyProject(fresh)
	if err != nil {
		return fmt.Errorf("copying the stack file: %w", err)
	}
	if !copied {
		return nil
	}
	for _, args := range [][]string{{"login", "file://" + e.Dir.Join("state")}, {"stack", "select", "--create", e.Stack}} {
		cmd := e.Command(ctx, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = e.Dir.Join("project"), nil, nil
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("pulumi %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

func (e *Engine) stackFile() string { return "Pulumi." + e.Stack + ".yaml" }

// copyProject copies the project's and the stack's file; the salt that the
// engine put into an earlier copy is kept, since the state depends on it.
func (e *Engine) copyProject(fresh bool) (copied bool, err error) {
	to := e.Dir.Join("project", e.stackFile())
	old, err := os.ReadFile(to)
	if err == nil && !fresh {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	config, err := os.ReadFile(filepath.Join(e.Root, e.stackFile()))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(old)) {
		if strings.HasPrefix(line, "encryptionsalt:") {
			config = append(config, line...)
		}
	}
	project, err := os.ReadFile(filepath.Join(e.Root, "Pulumi.yaml"))
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, err
	}
	if err := os.WriteFile(e.Dir.Join("project", "Pulumi.yaml"), project, 0o600); err != nil {
		return false, err
	}
	return true, os.WriteFile(to, config, 0o600)
}

// configured are the commands that take the stack's configuration from a file.
var configured = []string{"up", "preview", "refresh", "destroy", "config", "watch"}

// Run runs a pulumi command on the stack.
func (e *Engine) Run(ctx context.Context, args ...string) error {
	if err := e.StackCommand(ctx, args...).Run(); err != nil {
		return fmt.Errorf("pulumi %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// StackCommand answers a pulumi command on the stack that is ready to run.
func (e *Engine) StackCommand(ctx context.Context, args ...string) *exec.Cmd {
	if len(args) > 0 && slices.Contains(configured, args[0]) {
		args = append(args, "--config-file", e.Dir.Join("project", e.stackFile()))
	}
	return e.Command(ctx, append(args, "--stack", e.Stack)...)
}

// Outputs answers the stack's outputs; secrets are masked.
func (e *Engine) Outputs(ctx context.Context) (map[string]any, error) {
	cmd := e.StackCommand(ctx, "stack", "output", "--json")
	cmd.Stdout = nil
	data, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the stack's outputs: %w", err)
	}
	outputs := map[string]any{}
	return outputs, json.Unmarshal(data, &outputs)
}

// link makes to the same file as from, a copy where the file systems differ.
func link(from, to string) error {
	a, err := os.Stat(from)
	if err != nil {
		return err
	}
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, a.Mode().Perm())
}

// stageChart copies the chart into the project, since Helm takes a local chart
// from a folder. An existing copy is made anew: it is small, and its content
// must be the module's.
func stageChart(from, to string) error {
	tmp, err := os.MkdirTemp(mkparent(to), ".chart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	staged := filepath.Join(tmp, "chart")
	if err := os.CopyFS(staged, os.DirFS(from)); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(staged, to)
}

// mkparent creates the parent folder; a failure shows at the next step.
func mkparent(path string) string {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return parent
	}
	return parent
}
