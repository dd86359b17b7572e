package langhost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"golang.org/x/mod/semver"
)

// module is the part of `go list -m -json` that matters here.
type module struct {
	Path, Version, Dir string
	Main, Indirect     bool
	Replace            *module
}

// list answers the modules of the program in dir. The engine asks twice in a
// run, so they are kept for the life of the host, which is one run.
func (h *Host) list(ctx context.Context, dir string) ([]module, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known, ok := h.modules[dir]; ok {
		return known, nil
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-json", "all")
	cmd.Dir = dir
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules of %s: %w\n%s", dir, err, bytes.TrimSpace(problems.Bytes()))
	}
	var all []module
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var m module
		if err := decoder.Decode(&m); err != nil {
			return nil, fmt.Errorf("decoding the modules of %s: %w", dir, err)
		}
		all = append(all, m)
	}
	h.modules[dir] = all
	return all, nil
}

// GetRequiredPackages answers the providers that the program's SDK modules
// name, each in the highest version that one of them asks for.
func (h *Host) GetRequiredPackages(ctx context.Context, r *pulumirpc.GetRequiredPackagesRequest) (*pulumirpc.GetRequiredPackagesResponse, error) {
	all, err := h.list(ctx, r.GetInfo().GetProgramDirectory())
	if err != nil {
		return nil, err
	}
	highest := map[string]*pulumirpc.PackageDependency{}
	for _, m := range all {
		found, err := packageOf(m)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if known := highest[found.Name]; known == nil || semver.Compare(found.Version, known.Version) > 0 {
			highest[found.Name] = found
		}
	}
	response := &pulumirpc.GetRequiredPackagesResponse{}
	for _, name := range slices.Sorted(maps.Keys(highest)) {
		response.Packages = append(response.Packages, highest[name])
	}
	return response, nil
}

// pluginFiles are the places where SDK modules keep pulumi-plugin.json.
var pluginFiles = []string{"pulumi-plugin.json", "go/pulumi-plugin.json", "go/*/pulumi-plugin.json"}

// packageOf reads the pulumi-plugin.json that an SDK module ships; nil: m is
// no SDK of a provider.
func packageOf(m module) (*pulumirpc.PackageDependency, error) {
	if m.Main || m.Dir == "" {
		return nil, nil
	}
	for _, place := range pluginFiles {
		files, err := filepath.Glob(filepath.Join(m.Dir, filepath.FromSlash(place)))
		if err != nil {
			return nil, fmt.Errorf("looking for the plugin of %s: %w", m.Path, err)
		}
		if len(files) > 0 {
			return readPackage(m, files[0])
		}
	}
	return nil, nil
}

func readPackage(m module, file string) (*pulumirpc.PackageDependency, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the plugin of %s: %w", m.Path, err)
	}
	var declared struct {
		Resource              bool
		Name, Version, Server string
	}
	if err := json.Unmarshal(data, &declared); err != nil {
		return nil, fmt.Errorf("decoding the plugin of %s: %w", m.Path, err)
	}
	if !declared.Resource {
		return nil, nil
	}
	if declared.Version == "" {
		declared.Version = m.Version
	}
	return &pulumirpc.PackageDependency{Name: declared.Name, Kind: "resource", Server: declared.Server,
		Version: "v" + strings.TrimPrefix(declared.Version, "v")}, nil
}

// GetProgramDependencies answers the modules that the program requires.
func (h *Host) GetProgramDependencies(ctx context.Context, r *pulumirpc.GetProgramDependenciesRequest) (*pulumirpc.GetProgramDependenciesResponse, error) {
	all, err := h.list(ctx, r.GetInfo().GetProgramDirectory())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetProgramDependenciesResponse{}
	for _, m := range all {
		if m.Main || m.Indirect && !r.GetTransitiveDependencies() {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			m.Version = m.Replace.Version
		}
		response.Dependencies = append(response.Dependencies, &pulumirpc.DependencyInfo{Name: m.Path, Version: m.Version})
	}
	return response, nil
}
