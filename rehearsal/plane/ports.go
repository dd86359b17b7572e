package plane

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ports answers n free ports: those of the earlier run if they can still be
// had, so that kubeconfigs that are out stay true over a restart.
func (p *Plane) ports(n int) ([]string, error) {
	file := filepath.Join(p.Dir, "ports")
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if former := strings.Fields(string(data)); len(former) == n && free(former) {
		return former, nil
	}
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	return ports, os.WriteFile(file, []byte(strings.Join(ports, " ")+"\n"), 0o600)
}

// free says whether nobody listens at the ports.
func free(ports []string) bool {
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			return false
		}
		if l.Close() != nil {
			return false
		}
	}
	return true
}

// freePorts asks the kernel for ports that nobody listens at.
func freePorts(n int) ([]string, error) {
	ports := make([]string, 0, n)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		// Held until all are found, so that no two are the same.
		defer l.Close()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}
