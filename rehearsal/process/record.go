package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ray-on-aks/rehearsal/atomicfile"
)

// record writes a process's identity: its pid and its start time, so that a
// reused pid is never mistaken for it.
func record(path string, pid int) error {
	start, _, err := startTime(pid)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, fmt.Appendf(nil, "%d %s\n", pid, start))
}

// Record writes this process's own identity below dir under name.
func Record(dir, name string) error {
	dir = filepath.Join(dir, "pids")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return record(filepath.Join(dir, name), os.Getpid())
}

// RecordChild writes the identity of a child that leads a process group below
// dir, under name and its pid, and answers how to remove it again.
func RecordChild(dir, name string, pid int) (forget func() error, err error) {
	path := filepath.Join(dir, "pids", fmt.Sprintf("%s-%d", name, pid))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return func() error { return os.Remove(path) }, record(path, pid)
}

// startTime answers the start time of a process in clock ticks since boot,
// field 22 of /proc/<pid>/stat, and whether it has ended and only waits to be
// reaped.
func startTime(pid int) (ticks string, ended bool, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false, err
	}
	// The second field is the name in brackets and may hold blanks.
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	const startField = 22 - 3 // counted after pid and name
	if len(fields) <= startField {
		return "", false, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields[startField], fields[0] == "Z", nil
}

// Alive answers the pid of a recorded process that still runs, or 0.
func Alive(dir, name string) int {
	return alive(filepath.Join(dir, "pids", name))
}

func alive(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	var pid int
	var start string
	if _, err := fmt.Sscan(string(data), &pid, &start); err != nil {
		return 0
	}
	if now, ended, err := startTime(pid); err != nil || ended || now != start {
		return 0
	}
	return pid
}
