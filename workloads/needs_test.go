package workloads

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

var updatePrograms = flag.Bool("update-programs", false, "write programs.json instead of comparing with it")

// asked prints what programs say of themselves. Of the modules, which may need more than Python to be imported, it reads constants.
const asked = `
import ast, dataclasses, importlib, json, sys
from raylib import run

path = run.relative_path("", "").metadata["knob"].pattern

def constants(files):
    found = {}
    for file in files:
        for node in ast.parse(open(file, encoding="utf-8").read()).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("ADAPTERS", "FOLDERS"):
                found[node.targets[0].id] = ast.literal_eval(node.value)
    return found

said = {}
for script, files in json.load(sys.stdin).items():
    program = importlib.import_module(script.removesuffix(".py")).PROGRAM
    knobs = {f.name.upper(): f for f in dataclasses.fields(program.params)}
    default = lambda name: knobs[name].default if name in knobs else ""
    fixed = constants(files)
    said[script] = {
        "prefix": program.params.PREFIX, "output": program.needs_output, "knobs": sorted(knobs),
        "device": default("DEVICE"), "engine": default("ENGINE"),
        "paths": {n: f.default for n, f in knobs.items() if f.metadata["knob"].pattern == path},
        "adapters": fixed.get("ADAPTERS", ""), "items": list(default("ITEMS")), "folders": fixed.get("FOLDERS", {}),
    }
print(json.dumps(said))
`

// TestProgramsAreAsTheySay holds the table of what programs need to what they say themselves.
func TestProgramsAreAsTheySay(t *testing.T) {
	files := map[string][]string{}
	for _, script := range Scripts() {
		own, err := scriptsOf(Workload{Script: script})
		if err != nil {
			t.Fatal(err)
		}
		files[script] = slices.Sorted(maps.Keys(own))
	}
	input, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("python3", "-B", "-c", asked)
	var stderr bytes.Buffer
	command.Dir, command.Stdin, command.Stderr = "entrypoints", bytes.NewReader(input), &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	said := map[string]needs{}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *updatePrograms {
		if err := os.WriteFile("programs.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(got) != string(programsJSON) {
		t.Errorf("programs.json is out of date; write it with go test ./workloads -update-programs. The programs say:\n%s", got)
	}
}

func TestWhatProgramsNeedIsThere(t *testing.T) {
	alone(t, map[string]Declared{
		"workloads.llm-training.output: must be set, since llm_finetune.py leaves its results there, for example llm-pipeline/runs": entry("llm-training",
			func(w *Workload) { w.Output = "" }),
		"workloads.aurora-finetune.output: must be set": entry("aurora-finetune", func(w *Workload) { w.Output = "" }),
		"workloads.batch-inference.output: must be set": entry("batch-inference", func(w *Workload) { w.Output = "" }),
		"workloads.gpt2-tuning.output: must be set":     entry("gpt2-tuning", func(w *Workload) { w.Output = "" }),
		"workloads.llm-training.storage: lacks models, where llm_finetune.py has models/Qwen/Qwen2.5-7B-Instruct: add models to it, or say by env.LLM_BASE where else it is": entry("llm-training",
			func(w *Workload) { w.Storage = []string{"llm-pipeline"} }),
		"workloads.llm-training.storage: lacks aurora, where llm_finetune.py has aurora/x: add aurora to it": entry("llm-training",
			func(w *Workload) { w.Env = env("LLM_DATA", "./aurora/x") }),
		"workloads.stage.storage: lacks aurora, where stage.py has aurora/data/era5: add aurora to it": entry("stage",
			func(w *Workload) { w.Storage = []string{"llm-pipeline", "models"} }),
		"workloads.stage.storage: lacks models": entry("stage",
			func(w *Workload) { w.Storage, w.Env = []string{"llm-pipeline"}, env("STAGE_ITEMS", "viggo, gpt2") }),
		"workloads.llm-training.worker.gpus: must be 1 at least, since llm_finetune.py computes on GPUs; or set env.LLM_DEVICE: cpu": entry("llm-training",
			func(w *Workload) { w.Worker.GPUs = 0 }),
		"workloads.batch-inference.worker.gpus: must be 1 at least, since batch_inference.py computes on GPUs; or set env.BATCH_DEVICE: cpu and env.BATCH_ENGINE: transformers": entry("batch-inference",
			func(w *Workload) { w.Worker.GPUs = 0 }),
		"or set env.BATCH_ENGINE: transformers":                                                                                  entry("batch-inference", func(w *Workload) { w.Worker.GPUs, w.Env = 0, env("BATCH_DEVICE", "cpu") }),
		"workloads.online-serving.worker.gpus: must be 1 at least":                                                               service(func(w *Workload) { w.Worker.GPUs = 0 }),
		"workloads.smoke.env.SMOKE_TASK: smoke.py has no parameter of that name; did you mean SMOKE_TASKS?":                      job(func(w *Workload) { w.Env = env("SMOKE_TASK", "8") }),
		"smoke.py has no parameter of that name; its parameters are CONFIG, TASKS, TIMEOUT_SECONDS, each after SMOKE_":           job(func(w *Workload) { w.Env = env("SMOKE_X", "8") }),
		"workloads.online-serving.env.SERVE_TOKENS: serve_aurora.py has no parameter of that name; its parameters are ADAPTER, ": service(func(w *Workload) { w.Env = env("SERVE_TOKENS", "x") }),
	})
}

func TestNewWorkloadsNeedThatToo(t *testing.T) {
	own := scripted("llm_finetune.py")
	own.Worker.GPUs, own.Storage = 1, []string{"models"}
	err := stack(Declared{"own": own}).Validate()
	for _, want := range []string{"workloads.own.output: must be set, since llm_finetune.py leaves its results there, for example models/runs",
		"workloads.own.storage: lacks llm-pipeline, where llm_finetune.py has llm-pipeline/data/viggo, llm-pipeline/adapters: add llm-pipeline to it"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestWhatProgramsCanDoWithout(t *testing.T) {
	for name, declared := range map[string]Declared{
		"moved":     entry("llm-training", func(w *Workload) { w.Storage, w.Env = []string{"llm-pipeline"}, env("LLM_BASE", "llm-pipeline/qwen") }),
		"by a file": entry("llm-training", func(w *Workload) { w.Workers, w.Worker, w.Env = 2, stage().Worker, env("LLM_CONFIG", "/etc/llm.yaml") }),
		"no adapter": entry("batch-inference", func(w *Workload) {
			w.Storage, w.Output, w.Env = []string{"models"}, "models/runs", env("BATCH_ADAPTER", "none", "BATCH_DATA", "models/rows")
		}),
		"on CPUs": entry("batch-inference", func(w *Workload) {
			w.Worker, w.Env = stage().Worker, env("BATCH_DEVICE", "cpu", "BATCH_ENGINE", "transformers")
		}),
		"one item": entry("stage", func(w *Workload) { w.Storage, w.Env = []string{"models"}, env("STAGE_ITEMS", "gpt2") }),
		"others'":  job(func(w *Workload) { w.Env = env("LLM_X", "") }),
	} {
		if err := stack(declared).Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// env returns variables from their names and values, in turn.
func env(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

// alone fails for each configuration that is not refused with its words, on one line.
func alone(t *testing.T, cases map[string]Declared) {
	t.Helper()
	for words, declared := range cases {
		if err := stack(declared).Validate(); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q alone, got: %v", words, err)
		}
	}
}
