package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/rehearsal/layout"
)

// variable answers the value of a variable, and whether it is there just once.
func variable(env []string, name string) (value string, once bool) {
	n := 0
	for _, kv := range env {
		if rest, ok := strings.CutPrefix(kv, name+"="); ok {
			value = rest
			n++
		}
	}
	return value, n == 1
}

func TestPulumiSeesNothingOfTheUsersCloudClusterAndNetwork(t *testing.T) {
	hidden := []string{
		"ARM_CLIENT_SECRET", "ARM_SUBSCRIPTION_ID", "AZURE_TENANT_ID", "AZURE_CONFIG_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "PULUMI_OPTION_REFRESH", "PULUMI_K8S_SUPPRESS_HELM_HOOK_WARNINGS",
	}
	for _, name := range append([]string{"KUBECONFIG", "PULUMI_ACCESS_TOKEN", "PULUMI_BACKEND_URL", "PULUMI_STACK", "CHARM_LEVEL"}, hidden...) {
		t.Setenv(name, "the-users")
	}
	e := newEngine(t)
	env := e.stackCommand(t.Context(), "up").Env
	for _, name := range hidden {
		if value, _ := variable(env, name); value != "" || slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			t.Errorf("pulumi sees %s=%s", name, value)
		}
	}
	for name, want := range map[string]string{
		"KUBECONFIG": os.DevNull, "PULUMI_ACCESS_TOKEN": "", "PULUMI_STACK": "", "PULUMI_HOME": e.Dir.Join("pulumi"),
		"PULUMI_BACKEND_URL": "file://" + e.Dir.Join("state"), layout.EnvDir: string(e.Dir),
		"PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
		// What merely looks like a login stays.
		"CHARM_LEVEL": "the-users", "PATH": os.Getenv("PATH"),
	} {
		if got, once := variable(env, name); got != want || !once {
			t.Errorf("%s is %q (once: %v), want %q once", name, got, once, want)
		}
	}
}

func TestTheProgramsBuildKeepsTheProxiesAndNoLogin(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example")
	t.Setenv("ARM_CLIENT_SECRET", "the-users")
	e := newEngine(t)
	// In place of the language host: it prints what it is given, and fails.
	host := e.Dir.Join("bin", languageHost)
	write(t, host, "#!/bin/sh\necho \"args $*\"\nenv\nexit 1\n")
	if err := os.Chmod(host, 0o700); err != nil {
		t.Fatal(err)
	}
	err := e.Build(t.Context())
	if err == nil {
		t.Fatal("a failed build is no error")
	}
	for _, want := range []string{"args -build ray-on-aks", "HTTPS_PROXY=http://proxy.example", "CGO_ENABLED=0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "ARM_CLIENT_SECRET") {
		t.Error("the build sees the user's login")
	}
}

func TestStackCommandsUseTheCopiedStackFile(t *testing.T) {
	e := newEngine(t)
	file := e.Dir.Join("project", "Pulumi.rehearsal.yaml")
	for command, want := range map[string]bool{"up": true, "preview": true, "refresh": true, "destroy": true, "config": true, "stack": false} {
		cmd := e.stackCommand(t.Context(), command)
		i := slices.Index(cmd.Args, "--config-file")
		if got := i >= 0 && cmd.Args[i+1] == file; got != want {
			t.Errorf("pulumi %v: uses the copy %v, want %v", cmd.Args[1:], got, want)
		}
		if cmd.Dir != e.Root || !slices.Contains(cmd.Args, "--non-interactive") {
			t.Errorf("pulumi %v runs in %s", cmd.Args[1:], cmd.Dir)
		}
	}
}

func TestLinkReplacesAnOlderFile(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "deep", "tool")
	for _, version := range []string{"one", "three"} {
		from := filepath.Join(dir, version)
		write(t, from, version)
		for range 2 { // the second time there is nothing to do
			if err := link(from, to); err != nil {
				t.Fatal(err)
			}
		}
		if got := read(t, to); got != version {
			t.Errorf("the link has %q, want %q", got, version)
		}
	}
	if err := link(filepath.Join(dir, "none"), to); err == nil {
		t.Error("a tool that is not there was linked")
	}
	if got := read(t, to); got != "three" {
		t.Errorf("a failed link left %q", got)
	}
}

func TestAStagedChartIsExactlyTheModules(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "charts", "kueue")
	write(t, filepath.Join(from, "templates", "a.yaml"), "a: 1")
	if err := stageChart(from, to); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(to, "templates", "edited.yaml"), "b: 2")
	if err := stageChart(from, to); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.ReplaceAll(tree(t, to), to, ""), strings.ReplaceAll(tree(t, from), from, ""); got != want {
		t.Errorf("staged:\n%s\nwant:\n%s", got, want)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), ".chart-*")); err != nil || len(left) != 0 {
		t.Errorf("left beside the chart: %v, %v", left, err)
	}
}

func TestTemporaryFilesGoWithTheRehearsal(t *testing.T) {
	e := &Engine{Dir: layout.Dir(t.TempDir())}
	if got, want := e.Env()["TMPDIR"], e.Dir.Join("tmp"); got != want {
		t.Errorf("TMPDIR is %q, want %q", got, want)
	}
}
