// Package gomodule finds the source of a Go module that this program is built from. Some modules hold more than code: the CRDs that belong
// to their types, in the very version that go.mod pins.
package gomodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// limit is how long a download may take.
const limit = 5 * time.Minute

var (
	mu    sync.Mutex
	found = map[string]string{}
)

// Dir returns the folder of the module's source, as go finds it from the working folder, which must be in the program's own module.
func Dir(module string) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	if dir := found[module]; dir != "" {
		return dir, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	// The first knows of a module that go.mod replaces by a folder. It answers none where the source is not there yet, and beside a vendor
	// folder, which has only what is compiled; the second then brings the source.
	for _, args := range [][]string{{"list", "-m", "-json", module}, {"mod", "download", "-json", module}} {
		out, err := exec.CommandContext(ctx, "go", args...).Output()
		if err != nil {
			return "", fmt.Errorf("finding the source of module %s: go %s: %w%s", module, strings.Join(args, " "), err, messages(err, out))
		}
		var answer struct{ Dir string }
		if err := json.Unmarshal(out, &answer); err != nil {
			return "", fmt.Errorf("finding the source of module %s: reading go's answer: %w", module, err)
		}
		if answer.Dir != "" {
			found[module] = answer.Dir
			return answer.Dir, nil
		}
	}
	return "", fmt.Errorf("finding the source of module %s: go knows no folder of it", module)
}

// messages are what a command that failed has said, on either of its outputs.
func messages(err error, out []byte) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		out = exit.Stderr
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.TrimSpace(string(out))
}
