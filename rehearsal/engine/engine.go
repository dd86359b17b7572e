// Package engine runs the pulumi command for a rehearsal: the real engine with
// a file backend of its own, the real Kubernetes provider, and the emulated
// providers in the places of azure-native and random.
package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ray-on-aks/rehearsal/langhost"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/process"
	"ray-on-aks/rehearsal/toolchain"
)

const (
	// passphrase encrypts nothing that is secret: the secrets of a rehearsal
	// end with it.
	passphrase = "rehearsal"
	// chart is where the rehearsal's stack file looks for Kueue's chart,
	// relative to the project.
	chart = ".rehearsal/charts/kueue"
	// project is the project's name in Pulumi.yaml.
	project      = "ray-on-aks"
	languageHost = "pulumi-language-go"
	// envHome is in the environment of the engine and of all that it starts, and
	// of nothing else.
	envHome = "PULUMI_HOME"
	// programs is where the language host keeps the program's binary, relative
	// to the project, so that every rehearsal of a checkout shares it.
	programs = ".rehearsal/program"
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

	pulumi string
	lock   *os.File
}

// New prepares the engine: plugins, language host, chart and stack. bin is the
// folder with the rehearsal's own programs.
func New(ctx context.Context, root, bin string, dir layout.Dir, tools *toolchain.Toolchain, stack string) (*Engine, error) {
	paths, err := tools.Ensure(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{Root: root, Dir: dir, Stack: stack}
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
	if err := link(filepath.Join(bin, languageHost), dir.Join("bin", languageHost)); err != nil {
		return nil, fmt.Errorf("installing the language host: %w", err)
	}
	module, _, err := tools.Module(ctx, toolchain.KueueModule)
	if err != nil {
		return nil, err
	}
	if err := stageChart(filepath.Join(module, "charts", "kueue"), filepath.Join(root, chart)); err != nil {
		return nil, fmt.Errorf("staging Kueue's chart: %w", err)
	}
	for _, name := range []string{"state", "tmp"} {
		if err := os.MkdirAll(dir.Join(name), 0o700); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// Env is the environment that makes pulumi the rehearsal's.
func (e *Engine) Env() map[string]string {
	return map[string]string{
		envHome:                    e.Dir.Join("pulumi"),
		"PULUMI_BACKEND_URL":       "file://" + e.Dir.Join("state"),
		"PULUMI_CONFIG_PASSPHRASE": passphrase,
		"PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
		// A provider or language host on the user's PATH would be preferred to
		// the rehearsal's, whatever its version.
		"PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
		"PULUMI_STACK":                  "",
		"PULUMI_ACCESS_TOKEN":           "",
		"CGO_ENABLED":                   "0",
		"GOFLAGS":                       "-trimpath -buildvcs=false",
		langhost.BuildDirEnv:            filepath.Join(e.Root, programs),
		layout.EnvDir:                   string(e.Dir),
		// The Kubernetes provider writes kubeconfigs into temporary files and
		// leaves them; here they go with the rehearsal.
		"TMPDIR": e.Dir.Join("tmp"),
		// Nothing of the user's cloud or cluster may shine through.
		"KUBECONFIG": "/dev/null",
	}
}

// hidden are the variables of a user's Azure login, of settings for the engine
// and of settings for the Kubernetes provider, by prefix.
var hidden = []string{"ARM_", "AZURE_", "PULUMI_OPTION_", "PULUMI_K8S_"}

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

// command answers a pulumi command that is ready to start in the folder.
func (e *Engine) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.pulumi, append(args, "--non-interactive")...)
	// The engine and its plugins talk to this machine alone; the build of the
	// program may need a proxy.
	cmd.Dir, cmd.Env = dir, process.WithoutProxies(e.environ())
	// A group of its own: the terminal's interrupt must not reach the engine
	// beside ours, since it takes a second one as the order to drop everything.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Interruptible(cmd, 30*time.Second)
	return cmd
}

// run runs a command and keeps a record of it meanwhile, by which the
// rehearsal can be cleaned if this program is killed.
func (e *Engine) run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	forget, err := process.RecordChild(string(e.Dir), "pulumi", cmd.Process.Pid)
	if err != nil {
		return errors.Join(fmt.Errorf("recording the engine's process: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return errors.Join(cmd.Wait(), forget())
}

// Build builds the program as the language host will, ahead of the first run.
// It keeps the user's proxies: modules may have to be downloaded.
func (e *Engine) Build(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, e.Dir.Join("bin", languageHost), "-build", project)
	cmd.Dir, cmd.Env = e.Root, e.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return nil
}

// configured are the commands that take the stack's configuration from a file.
var configured = []string{"up", "preview", "refresh", "destroy", "config", "watch"}

// Run runs a pulumi command on the stack; its output goes to out.
func (e *Engine) Run(ctx context.Context, out io.Writer, args ...string) error {
	stop, err := e.keepLastWhole()
	if err != nil {
		return err
	}
	cmd := e.stackCommand(ctx, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := e.run(cmd); err != nil {
		return errors.Join(fmt.Errorf("pulumi %s: %w", strings.Join(args, " "), err), stop())
	}
	return stop()
}

func (e *Engine) stackCommand(ctx context.Context, args ...string) *exec.Cmd {
	if len(args) > 0 && slices.Contains(configured, args[0]) {
		args = append(args, "--config-file", e.Dir.Join("project", e.stackFile()))
	}
	return e.command(ctx, e.Root, append(args, "--stack", e.Stack)...)
}

// Outputs answers the stack's outputs; secrets are masked.
func (e *Engine) Outputs(ctx context.Context) (map[string]any, error) {
	data, err := e.output(ctx, "stack", "output", "--json")
	if err != nil {
		return nil, fmt.Errorf("reading the stack's outputs: %w", err)
	}
	outputs := map[string]any{}
	return outputs, json.Unmarshal(data, &outputs)
}

// output runs a pulumi command on the stack and answers what it prints; its
// messages are in the error.
func (e *Engine) output(ctx context.Context, args ...string) ([]byte, error) {
	var data, problems bytes.Buffer
	cmd := e.stackCommand(ctx, args...)
	cmd.Stdout, cmd.Stderr = &data, &problems
	if err := e.run(cmd); err != nil {
		return nil, fmt.Errorf("pulumi %s: %w\n%s%s", args[0], err, data.String(), problems.String())
	}
	return data.Bytes(), nil
}
