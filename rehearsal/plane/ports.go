package plane

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"ray-on-aks/rehearsal/freeport"
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
	ports, err := freeport.Find(n)
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
