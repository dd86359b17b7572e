package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Sweep ends every process recorded anywhere below dir that still runs,
// killing after the grace period, and removes the records. It answers the
// names of those it ended.
func Sweep(dir string, grace time.Duration) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) == "pids" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for recorded processes: %w", err)
	}
	return sweep(paths, grace)
}

// SweepChildren ends what was recorded by RecordChild under the name.
func SweepChildren(dir, name string, grace time.Duration) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "pids", name+"-*"))
	if err != nil {
		return nil, err
	}
	return sweep(paths, grace)
}

func sweep(paths []string, grace time.Duration) (ended []string, err error) {
	var pids []int
	for _, path := range paths {
		if pid := alive(path); pid != 0 {
			pids = append(pids, pid)
			ended = append(ended, filepath.Base(path))
		}
	}
	running := func(pid int) bool {
		for _, path := range paths {
			if alive(path) == pid {
				return true
			}
		}
		return false
	}
	if err := end(pids, running, grace); err != nil {
		return ended, err
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return ended, err
		}
	}
	return ended, nil
}

// WithEnv answers the processes, but this one, whose environment has exactly
// this setting.
func WithEnv(setting string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range files {
		// Files of processes that end meanwhile, or of other users, cannot be read.
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), append([]byte{0}, setting+"\x00"...)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// SweepEnv ends every process whose environment has exactly this setting:
// plugins that outlived the engine which started them. It answers how many.
func SweepEnv(setting string, grace time.Duration) (int, error) {
	given, err := WithEnv(setting)
	if err != nil {
		return 0, err
	}
	started := map[int]string{}
	for _, pid := range given {
		if start, ended, err := startTime(pid); err == nil && !ended {
			started[pid] = start
		}
	}
	var pids []int
	for pid := range started {
		pids = append(pids, pid)
	}
	return len(pids), end(pids, func(pid int) bool {
		start, ended, err := startTime(pid)
		return err == nil && !ended && start == started[pid]
	}, grace)
}

// end asks processes to end, each with its group if it leads one, kills what
// still runs after the grace period, and returns when all are gone.
func end(pids []int, running func(int) bool, grace time.Duration) error {
	deadline := time.Now().Add(grace)
	for sig := syscall.SIGTERM; ; sig = 0 {
		if time.Now().After(deadline) {
			sig = syscall.SIGKILL
		}
		left := 0
		for _, pid := range pids {
			if !running(pid) {
				continue
			}
			left++
			if sig == 0 || syscall.Kill(-pid, sig) == nil {
				continue
			}
			if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("ending process %d: %w", pid, err)
			}
		}
		if left == 0 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
}
