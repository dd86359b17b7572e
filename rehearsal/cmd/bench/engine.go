package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ray-on-aks/rehearsal/engine"
	"ray-on-aks/rehearsal/layout"
	"ray-on-aks/rehearsal/toolchain"
)

// empty makes the same providers as this program, and nothing else.
//
//go:embed testdata/empty.go.txt
var empty []byte

// turns is how often a command is timed; the median counts.
const turns = 5

// engineTimes compares commands that change nothing on the dev stack with those
// on a stack of the same providers alone.
func engineTimes(ctx context.Context, b *bench) (err error) {
	ours, err := b.dev(ctx)
	defer func() { err = errors.Join(err, b.down(ctx)) }()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "bare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	bare, err := b.bare(ctx, folder)
	if err != nil {
		return err
	}
	fmt.Println("| without changes | dev stack, s | providers alone, s | ratio (aim: at most 1.5) |\n|---|---|---|---|")
	for _, command := range [][]string{{"preview"}, {"up", "--yes", "--skip-preview"}} {
		var times [2][]float64
		for range turns {
			for i, e := range []*engine.Engine{ours, bare} {
				start := time.Now()
				if err := e.Run(ctx, io.Discard, command...); err != nil {
					return err
				}
				times[i] = append(times[i], time.Since(start).Seconds())
			}
		}
		a, c := median(times[0]), median(times[1])
		fmt.Printf("| %s | %.1f | %.1f | %.2f |\n", command[0], a, c, a/c)
	}
	return nil
}

// dev brings the dev stack up in the bench's own folder, from nothing.
func (b *bench) dev(ctx context.Context) (*engine.Engine, error) {
	if err := b.down(ctx); err != nil {
		return nil, err
	}
	if _, err := b.rehearse(ctx, "-stack", "dev", "up"); err != nil {
		return nil, err
	}
	return b.engine(ctx, b.root, b.dir, "dev")
}

// bare brings up a program of providers alone in the folder; its cluster is that
// of the bench.
func (b *bench) bare(ctx context.Context, folder string) (*engine.Engine, error) {
	if err := module(b.root, folder, empty); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"Pulumi.yaml": "name: ray-on-aks\nruntime: go\n", "Pulumi.rehearsal.yaml": "config: {}\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	clusters, err := filepath.Glob(layout.Dir(b.dir).ClusterKubeconfig("*"))
	if err != nil || len(clusters) != 1 {
		return nil, fmt.Errorf("clusters that are up: %v, %w", clusters, err)
	}
	if err := os.Setenv("BENCH_KUBECONFIG", clusters[0]); err != nil {
		return nil, err
	}
	e, err := b.engine(ctx, folder, filepath.Join(folder, "rehearsal"), "rehearsal")
	if err != nil {
		return nil, err
	}
	return e, e.Run(ctx, io.Discard, "up", "--yes")
}

// engine prepares pulumi for a stack of the program in root.
func (b *bench) engine(ctx context.Context, root, dir, stack string) (*engine.Engine, error) {
	opened, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	tools, err := toolchain.New(b.root, os.Stderr)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(ctx, root, b.bin, opened, tools, stack)
	if err != nil {
		return nil, err
	}
	if err := e.Init(ctx, true); err != nil {
		return nil, err
	}
	return e, e.Build(ctx)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
