package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"ray-on-aks/rehearsal/process"
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
	given, err := process.WithEnv(mark)
	if err != nil {
		return nil
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	parent := map[int]int{}
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		if parent[pid], err = process.Parent(pid); err != nil {
			delete(parent, pid)
		}
	}
	var found []int
	for pid := range parent {
		for p := pid; p > 1; p = parent[p] {
			if slices.Contains(given, p) {
				found = append(found, pid)
				break
			}
		}
	}
	return found
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
