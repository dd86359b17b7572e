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

// moduleSets says which set pins each of them.
var moduleSets = map[string]string{KueueModule: "kubernetes", KubeRayModule: "kuberay", KWOKModule: "kwok"}

// Module answers the folder of a pinned module's source, which go verifies
// against the set's checksums, and its version.
func (t *Toolchain) Module(ctx context.Context, path string) (dir, version string, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", path)
	cmd.Dir, cmd.Env = filepath.Join(t.Sets, moduleSets[path]), append(os.Environ(), buildEnv...)
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("downloading module %s: %w", path, err)
	}
	var module struct{ Dir, Version, Error string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", "", fmt.Errorf("reading go's answer for module %s: %w", path, err)
	}
	if module.Error != "" {
		return "", "", fmt.Errorf("downloading module %s: %s", path, module.Error)
	}
	return module.Dir, module.Version, nil
}
