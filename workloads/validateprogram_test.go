package workloads

import (
	"fmt"
	"strings"
	"testing"
)

// TestArgumentsAreOfLinux: Linux refuses to start a process with longer ones, or cuts them.
func TestArgumentsAreOfLinux(t *testing.T) {
	long := func(n int) string { return strings.Repeat("a", n) }
	command := func(command string) Declared { return Declared{"mine": running(command)} }
	alone(t, map[string]Declared{
		"workloads.smoke.env.A: must be at most 131045 bytes, got 131046": job(func(w *Workload) { w.Env = env("A", long(131046)) }),
		"workloads.smoke.env.A: must be without the character 0":          job(func(w *Workload) { w.Env = env("A", "a\x00b") }),
		"workloads.mine.entrypoint: must be at most 126975 bytes":         command(long(maxEntrypoint + 1)),
		"workloads.mine.entrypoint: must be without the character 0":      command("a\x00b"),
		"workloads.online-serving.entrypoint: must be without":            service(func(w *Workload) { w.Script, w.Entrypoint = "", "a:b\x00" }),
	})
	many := func(n int) func(*Workload) {
		return func(w *Workload) {
			w.Env = map[string]string{}
			for i := range n {
				w.Env[fmt.Sprintf("V%03d", i)] = long(5112) + "\x01" // which JSON writes as six characters
			}
		}
	}
	alone(t, map[string]Declared{"workloads.smoke.env: must be at most 524288 bytes in all, got 527772: head and workers": job(many(103))})
	for _, declared := range []Declared{job(many(102)), job(func(w *Workload) { w.Env = env("A", long(131045)) }), command(long(maxEntrypoint))} {
		if err := stack(declared).Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestPathsAreNoFormats: a name is refused with what it is.
func TestPathsAreNoFormats(t *testing.T) {
	w := running("true")
	w.Retries = -1
	refused(t, map[string]Declared{"workloads.a%d.retries: must be between 0 and 100, got -1": {"a%d": w}})
}
