// Package freeport finds ports of the loopback address that nobody listens at.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// first is the lowest port that is answered. Those from 10000 on are what Ray
// gives to its workers, from the lowest up.
const first = 20000

// attempts is how many ports are tried for each that is wanted.
const attempts = 100

// Find answers n free ports, no two the same. They lie below those that the
// kernel gives to whoever asks for any, so that none of them is given away
// before it is used; another program may still take one by its number.
func Find(n int) ([]string, error) {
	low, err := ephemeral()
	if err != nil {
		return nil, err
	}
	ports := make([]string, 0, n)
	for range n * attempts {
		if len(ports) == n {
			break
		}
		port := "0" // the kernel's choice, where it leaves no room below
		if low > first {
			port = strconv.Itoa(first + rand.IntN(low-first)) //nolint:gosec // no secret
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			continue
		}
		// Held until all are found, so that no two are the same.
		defer l.Close()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	if len(ports) < n {
		return nil, fmt.Errorf("of %d ports only %d are free", n*attempts, len(ports))
	}
	return ports, nil
}

// ephemeral is the lowest port that the kernel gives to whoever asks for any.
func ephemeral() (int, error) {
	const setting = "/proc/sys/net/ipv4/ip_local_port_range"
	data, err := os.ReadFile(setting)
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	low, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\t")
	port, err := strconv.Atoi(low)
	if err != nil {
		return 0, fmt.Errorf("%s is %q: %w", setting, data, err)
	}
	return port, nil
}
