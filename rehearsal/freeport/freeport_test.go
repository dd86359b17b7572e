package freeport

import (
	"net"
	"slices"
	"strconv"
	"testing"
)

func TestPortsAreFreeAndNotTheKernelsToGive(t *testing.T) {
	low, err := ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := Find(50)
	if err != nil || len(ports) != 50 {
		t.Fatal(ports, err)
	}
	slices.Sort(ports)
	if len(slices.Compact(slices.Clone(ports))) != 50 {
		t.Errorf("some are the same: %v", ports)
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Errorf("port %s is not free: %v", port, err)
			continue
		}
		l.Close()
		if n, err := strconv.Atoi(port); err != nil || low > first && (n < first || n >= low) {
			t.Errorf("port %s is not from %d to %d: %v", port, first, low-1, err)
		}
	}
}
