package toolchain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Modules whose files, beside their programs, the rehearsal uses: Kueue's Helm
// chart, KubeRay's manifests and KWOK's stages.
const (
	KueueModule   = "sigs.k8s.io/kueue"
	KubeRayModule = "github.com/ray-project/kuberay/ray-operator"
	KWOKModule    = "sigs.k8s.io/kwok"
)

// moduleSets says which set pins each of them, and earlierSets which one pins the
// release before.
var (
	moduleSets  = map[string]string{KueueModule: "kubernetes", KubeRayModule: "kuberay", KWOKModule: "kwok"}
	earlierSets = map[string]string{KueueModule: "kueue-earlier", KubeRayModule: "kuberay-earlier"}
)

// Module answers the folder of a pinned module's source, which go verifies
// against the set's checksums, and its version.
func (t *Toolchain) Module(ctx context.Context, path string) (dir, version string, err error) {
	return t.moduleOf(ctx, moduleSets[path], path)
}

// EarlierModule does so for the release of an operator before.
func (t *Toolchain) EarlierModule(ctx context.Context, path string) (dir, version string, err error) {
	return t.moduleOf(ctx, earlierSets[path], path)
}

func (t *Toolchain) moduleOf(ctx context.Context, set, path string) (dir, version string, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path)
	cmd.Dir, cmd.Env = filepath.Join(t.Sets, set), append(os.Environ(), buildEnv...)
	out, err := cmd.Output()
	var module struct{ Dir, Version, Error string }
	// Where the download fails, the answer says why and the exit code does not.
	unreadable := json.Unmarshal(out, &module)
	switch {
	case unreadable == nil && module.Error != "":
		return "", "", fmt.Errorf("downloading module %s: %s", path, module.Error)
	case err != nil:
		return "", "", fmt.Errorf("downloading module %s: %w", path, err)
	case unreadable != nil:
		return "", "", fmt.Errorf("reading go's answer for module %s: %w", path, unreadable)
	}
	return module.Dir, module.Version, nil
}
