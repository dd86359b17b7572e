package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// teams times an up that changes nothing with 1, 5 and 20 teams.
func teams(ctx context.Context, b *bench) (err error) {
	e, err := b.dev(ctx)
	defer func() { err = errors.Join(err, b.down(ctx)) }()
	if err != nil {
		return err
	}
	fmt.Println("| teams | up without changes, s | of that with one team |\n|---|---|---|")
	one := 0.0
	for _, count := range []int{1, 5, 20} {
		shares := map[string]any{}
		for i := range count {
			shares[fmt.Sprintf("team-%02d", i)] = map[string]any{"share": 1}
		}
		config, err := json.Marshal(map[string]any{"shape": "teams", "teams": shares})
		if err != nil {
			return err
		}
		for _, args := range [][]string{
			{"config", "set", "ray-on-aks:queues", string(config)},
			{"config", "set", "--path", "ray-on-aks:workloads.smoke.team", "team-00"},
			{"up", "--yes", "--skip-preview"},
		} {
			if err := e.Run(ctx, io.Discard, args...); err != nil {
				return err
			}
		}
		var times []float64
		for range turns {
			start := time.Now()
			if err := e.Run(ctx, io.Discard, "up", "--yes", "--skip-preview"); err != nil {
				return err
			}
			times = append(times, time.Since(start).Seconds())
		}
		took := median(times)
		if count == 1 {
			one = took
		}
		fmt.Printf("| %d | %.1f | %.2f |\n", count, took, took/one)
	}
	return nil
}
