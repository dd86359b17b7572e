// Package gomodule finds the source of a Go module that this program is built from. Some modules hold more than code: the CRDs that belong
// to their types, in the very version that go.mod pins.
package gomodule

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

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
	// `go list` answers an empty folder where the source is not there yet; `go mod download` brings it.
	for _, args := range [][]string{{"list", "-m", "-f", "{{.Dir}}", module}, {"mod", "download", module}, {"list", "-m", "-f", "{{.Dir}}", module}} {
		out, err := exec.Command("go", args...).Output()
		if err != nil {
			return "", fmt.Errorf("finding the source of module %s: go %s: %w%s", module, strings.Join(args, " "), err, messages(err))
		}
		if dir := strings.TrimSpace(string(out)); dir != "" {
			found[module] = dir
			return dir, nil
		}
	}
	return "", fmt.Errorf("finding the source of module %s: go knows no folder of it", module)
}

// messages are what a command that failed has said.
func messages(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) || len(exit.Stderr) == 0 {
		return ""
	}
	return ": " + strings.TrimSpace(string(exit.Stderr))
}
