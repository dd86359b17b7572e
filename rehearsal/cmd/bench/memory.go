package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// watchMemory looks each second at the processes that have the mark in their
// environment, and at all that these have started, until it is asked for the
// most that they had together, in GiB.
func watchMemory(mark string) (most func() float64) {
	var watching sync.WaitGroup
	done := make(chan struct{})
	peak := 0
	watching.Go(func() {
		for {
			sum := 0
			for _, pid := range marked(mark) {
				sum += proportional(pid)
			}
			peak = max(peak, sum)
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
		}
	})
	return func() float64 {
		close(done)
		watching.Wait()
		return float64(peak) / (1 << 20)
	}
}

// marked finds the processes with the mark and their descendants: what runs in a
// sandbox has an environment of its own. Processes come and go meanwhile, so
// one that cannot be read is passed over.
func marked(mark string) []int {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	parent, has := map[int]int{}, map[int]bool{}
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(folder, "environ"))
		has[pid] = err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00"))
		parent[pid] = parentOf(folder)
	}
	var found []int
	for pid := range parent {
		for p := pid; p > 1; p = parent[p] {
			if has[p] {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// parentOf reads a process's parent; 0 if it is gone.
func parentOf(folder string) int {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return 0
	}
	// The command's name, in brackets, may have anything in it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	pid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return pid
}

// pss is the line with a process's share of the memory, in KiB.
var pss = regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB$`)

// proportional is what the process has of the memory, in KiB; what several share
// counts once. 0 if it is gone.
func proportional(pid int) int {
	rollup, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	m := pss.FindSubmatch(rollup)
	if err != nil || m == nil {
		return 0
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return 0
	}
	return kib
}
