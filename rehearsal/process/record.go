package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	fields, err := stat(pid, 3, 22)
	if err != nil {
		return "", false, err
	}
	return fields[1], fields[0] == "Z", nil
}

// Parent answers the pid of a process's parent.
func Parent(pid int) (int, error) {
	fields, err := stat(pid, 4)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(fields[0])
}

// stat reads fields of /proc/<pid>/stat, by their numbers in its manual, of which
// the first two cannot be asked for.
func stat(pid int, numbers ...int) ([]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	// The second field is the name in brackets and may hold blanks.
	fields := strings.Fields(string(data)[strings.LastIndexByte(string(data), ')')+1:])
	values := make([]string, len(numbers))
	for i, number := range numbers {
		if len(fields) <= number-3 {
			return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
		}
		values[i] = fields[number-3]
	}
	return values, nil
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
