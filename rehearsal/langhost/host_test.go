package langhost

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/structpb"
)

// write makes a program's folder from file names and contents.
func write(t *testing.T, files map[string]string) *pulumirpc.ProgramInfo {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &pulumirpc.ProgramInfo{RootDirectory: dir, ProgramDirectory: dir, EntryPoint: "."}
}

func TestVersionIsTheSDKs(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "github.com/pulumi/pulumi/sdk/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != "v"+Version {
		t.Errorf("Version is %s, go.mod has %s", Version, got)
	}
}

func TestRunTellsTheProgramItsEnvironmentAndTheEngineItsEnd(t *testing.T) {
	t.Setenv(BuildDirEnv, t.TempDir())
	h := New(t.Context(), "127.0.0.1:1")
	for code, want := range map[string]*pulumirpc.RunResponse{
		"0":  {},
		"32": {Bail: true},
		"7":  {Error: "the program ended with exit status 7"},
	} {
		info := write(t, map[string]string{
			"go.mod": "module p\n",
			"main.go": `package main
import "os"
func main() {
	if os.Getenv("PULUMI_STACK") != "dev" || os.Getenv("PULUMI_ENGINE") != "127.0.0.1:1" || os.Getenv("PULUMI_DRY_RUN") != "true" {
		os.Exit(9)
	}
	os.Exit(` + code + `)
}
`,
		})
		got, err := h.Run(t.Context(), &pulumirpc.RunRequest{Info: info, Stack: "dev", DryRun: true, Pwd: info.GetProgramDirectory()})
		if err != nil {
			t.Fatal(err)
		}
		if got.GetError() != want.GetError() || got.GetBail() != want.GetBail() {
			t.Errorf("exit code %s: %v, want %v", code, got, want)
		}
	}
}

func TestABrokenProgramIsReportedWithTheCompilersWords(t *testing.T) {
	info := write(t, map[string]string{"go.mod": "module p\n", "main.go": "package main\nfunc main() { undefined() }\n"})
	got, err := New(t.Context(), "").Run(t.Context(), &pulumirpc.RunRequest{Info: info})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.GetError(), "undefined: undefined") {
		t.Errorf("the error does not hold the compiler's: %q", got.GetError())
	}
}

func TestAPrebuiltBinaryIsTakenAsItIs(t *testing.T) {
	info := write(t, map[string]string{"go.mod": "module p\n"})
	options, err := structpb.NewStruct(map[string]any{"binary": "absent"})
	if err != nil {
		t.Fatal(err)
	}
	info.Options = options
	got, err := New(t.Context(), "").Run(t.Context(), &pulumirpc.RunRequest{Info: info})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.GetError(), "absent") {
		t.Errorf("a missing binary gives %q", got.GetError())
	}
}

func TestRequiredPackagesOfTheProgram(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := New(t.Context(), "").GetRequiredPackages(t.Context(),
		&pulumirpc.GetRequiredPackagesRequest{Info: &pulumirpc.ProgramInfo{ProgramDirectory: root}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got.GetPackages() {
		names = append(names, p.GetName()+" "+p.GetVersion())
	}
	want := []string{"azure-native v2.90.0", "kubernetes v4.24.0", "random v4.18.0"}
	if !slices.Equal(names, want) {
		t.Errorf("packages %v, want %v", names, want)
	}
}
