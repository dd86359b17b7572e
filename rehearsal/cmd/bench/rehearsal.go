package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ray-on-aks/rehearsal/process"
)

// phaseLine is what a rehearsal prints of a phase.
var phaseLine = regexp.MustCompile(`(?m)^== (.*): ([0-9.]+) s$`)

// rehearsal brings the rehearsal's stack up in a new folder, and once more as
// it is; built tools are there in both. It prints the seconds of each phase and
// the memory of all its processes.
func rehearsal(ctx context.Context, b *bench) (err error) {
	if err := b.down(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.down(ctx)) }()
	var phases []string
	seconds := map[string][]string{}
	memory := watchMemory(b.mark())
	for range 2 {
		out, err := b.rehearse(ctx, "up")
		if err != nil {
			return err
		}
		for _, m := range phaseLine.FindAllStringSubmatch(out, -1) {
			if seconds[m[1]] == nil {
				phases = append(phases, m[1])
			}
			seconds[m[1]] = append(seconds[m[1]], m[2])
		}
	}
	peak := memory()
	if peak == 0 {
		return errors.New("the memory of no process could be read")
	}
	fmt.Println("| phase | new, s | again, s |\n|---|---|---|")
	for _, phase := range phases {
		fmt.Printf("| %s | %s |\n", phase, strings.Join(seconds[phase], " | "))
	}
	fmt.Printf("peak memory of all processes: %.1f GiB (aim: at most 3)\n", peak)
	return nil
}

// rehearse runs the rehearse command on the bench's own folder.
func (b *bench) rehearse(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "rehearse"), append([]string{"-root", b.root, "-dir", b.dir}, args...)...)
	process.Interruptible(cmd, time.Minute)
	cmd.Env = append(os.Environ(), b.mark())
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("rehearse %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// mark is in the environment of what the rehearsal starts.
func (b *bench) mark() string { return "BENCHED=" + b.dir }

// down ends the bench's rehearsal.
func (b *bench) down(ctx context.Context) error {
	_, err := b.rehearse(context.WithoutCancel(ctx), "down")
	return err
}
