package toolchain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// KubernetesProviderVersion is what the Kubernetes SDK that the program
	// imports asks for; the provider's module has only a pseudo-version.
	KubernetesProviderVersion = "4.24.0"

	kubernetesProviderModule = "github.com/pulumi/pulumi-kubernetes/provider/v4"
)

// prepareKubernetesProvider copies the provider's module next to the build,
// replaces the one file that imports the remote components, and generates the
// two documents that the module does not ship.
func prepareKubernetesProvider(ctx context.Context, dir, version string) error {
	list := exec.CommandContext(ctx, "go", "mod", "download", "-json", kubernetesProviderModule)
	list.Dir, list.Env = dir, append(os.Environ(), buildEnv...)
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("downloading the provider's module: %w", err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return fmt.Errorf("reading go's answer: %w", err)
	}
	copied := filepath.Join(dir, "provider")
	if err := copyWritable(copied, module.Dir); err != nil {
		return fmt.Errorf("copying the provider's module: %w", err)
	}
	overlay := filepath.Join(dir, "overlay", "provider_construct.go")
	if err := os.Rename(overlay, filepath.Join(copied, "pkg", "provider", "provider_construct.go")); err != nil {
		return err
	}
	command := filepath.Join(module.Dir, "cmd", "pulumi-resource-kubernetes")
	for _, name := range []string{"schema", "terraform-mapping"} {
		err := embedDocument(filepath.Join(command, name+".json"), filepath.Join(dir, name+"-embed.json"),
			strings.TrimPrefix(version, "v"))
		if err != nil {
			return fmt.Errorf("generating %s: %w", name, err)
		}
	}
	return goRun(ctx, dir, "mod", "edit", "-replace", kubernetesProviderModule+"=./provider")
}

// embedDocument writes a compact copy of a JSON document; a schema is given
// the provider's version, as the upstream generator does.
func embedDocument(from, to, version string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if strings.HasPrefix(filepath.Base(from), "schema") {
		var schema map[string]json.RawMessage
		if err := json.Unmarshal(data, &schema); err != nil {
			return err
		}
		schema["version"] = json.RawMessage(`"` + version + `"`)
		if data, err = json.Marshal(schema); err != nil {
			return err
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	return os.WriteFile(to, compact.Bytes(), 0o600)
}

// copyWritable copies a folder of the read-only module cache.
func copyWritable(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}
