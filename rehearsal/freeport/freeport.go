// Package freeport finds ports of the loopback address that nobody listens at.
package freeport

import (
	"fmt"
	"net"
	"strconv"
)

// Find asks the kernel for n free ports, no two the same. Another program may
// take one before it is used.
func Find(n int) ([]string, error) {
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
