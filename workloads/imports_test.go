package workloads

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"testing"
)

// importedByPython prints the files of the shared package that each program imports, directly or not, by Python's own parser.
const importedByPython = `
import ast, json, pathlib

def modules(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "raylib":
            yield from ("__init__", *(a.name for a in node.names))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("raylib."):
            yield from ("__init__", node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            for a in node.names:
                if a.name.startswith("raylib."):
                    yield from ("__init__", a.name.split(".")[1])

def closure(path, found):
    for m in modules(path.read_text()):
        if m not in found:
            found.add(m)
            closure(pathlib.Path("raylib", m + ".py"), found)
    return found

print(json.dumps({p.name: sorted(f"raylib/{m}.py" for m in closure(p, set())) for p in pathlib.Path(".").glob("*.py")}))
`

// TestProgramsTakeOnlyWhatTheyImport: what a run does not import must not make another run of it, and what it imports must be there.
func TestProgramsTakeOnlyWhatTheyImport(t *testing.T) {
	python := exec.Command("python3", "-c", importedByPython)
	python.Dir = "entrypoints"
	out, err := python.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]string
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for _, script := range Scripts() {
		files, err := scriptsOf(Workload{Script: script})
		if err != nil {
			t.Fatal(err)
		}
		delete(files, script)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want[script]) {
			t.Errorf("%s takes %v and imports %v", script, got, want[script])
		}
	}
	if training := "raylib/trainer.py"; slices.Contains(want["smoke.py"], training) || !slices.Contains(want["llm_finetune.py"], training) {
		t.Errorf("smoke.py imports %v, llm_finetune.py %v", want["smoke.py"], want["llm_finetune.py"])
	}
}

// TestScriptsFitAConfigMap: the API server takes no more than 1 MiB of data.
func TestScriptsFitAConfigMap(t *testing.T) {
	a := stack(nil)
	for _, script := range Scripts() {
		files, err := a.filesOf(a.resolved(Workload{Script: script}))
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, text := range files {
			total += len(text)
		}
		if total > 1<<20 {
			t.Errorf("%s and what it imports have %d bytes", script, total)
		}
	}
}
