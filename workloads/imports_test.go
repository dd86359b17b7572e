package workloads

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"testing"
)

// importedByPython prints what each program imports, directly or not, by Python's own parser: the files of the shared package, and the
// libraries that are neither Python's nor Ray, which brings yaml.
const importedByPython = `
import ast, json, pathlib, sys

def imported(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "raylib":
            yield from (f"raylib.{a.name}" for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names)

def follow(path, modules, libraries):
    for name in imported(path.read_text()):
        top, _, rest = name.partition(".")
        if top == "raylib":
            modules.add("__init__")
            module = rest.split(".")[0]
            if module not in modules:
                modules.add(module)
                follow(pathlib.Path("raylib", module + ".py"), modules, libraries)
        elif top not in sys.stdlib_module_names | {"__future__", "ray", "yaml"}:
            libraries.add(top)

found = {}
for program in pathlib.Path(".").glob("*.py"):
    modules, libraries = set(), set()
    follow(program, modules, libraries)
    found[program.name] = {"files": sorted(f"raylib/{m}.py" for m in modules), "libraries": sorted(libraries)}
print(json.dumps(found))
`

// imports are what a program imports.
type imports struct {
	// Files are those of the shared package.
	Files []string
	// Libraries are the top-level packages that neither Python nor Ray has.
	Libraries []string
}

// imported asks Python, for every program.
func imported(t *testing.T) map[string]imports {
	t.Helper()
	python := exec.Command("python3", "-c", importedByPython)
	python.Dir = "entrypoints"
	out, err := python.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]imports
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(found)); !slices.Equal(names, Scripts()) {
		t.Fatalf("Python has looked at %v, programs are %v", names, Scripts())
	}
	return found
}

// TestProgramsTakeOnlyWhatTheyImport: what a run does not import must not make another run of it, and what it imports must be there.
func TestProgramsTakeOnlyWhatTheyImport(t *testing.T) {
	want := imported(t)
	for _, script := range Scripts() {
		files, err := scriptsOf(Workload{Script: script})
		if err != nil {
			t.Fatal(err)
		}
		delete(files, script)
		if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want[script].Files) {
			t.Errorf("%s takes %v and imports %v", script, got, want[script].Files)
		}
	}
	training := "raylib/trainer.py"
	if slices.Contains(want["smoke.py"].Files, training) || !slices.Contains(want["llm_finetune.py"].Files, training) {
		t.Errorf("smoke.py imports %v, llm_finetune.py %v", want["smoke.py"].Files, want["llm_finetune.py"].Files)
	}
}

// TestFilesFitAConfigMap: the API server takes no more than 1 MiB of data.
func TestFilesFitAConfigMap(t *testing.T) {
	a := stack(nil)
	for _, script := range Scripts() {
		for _, gpus := range []int64{0, 1} {
			files, err := a.filesOf(a.resolved(Workload{Script: script, Worker: WorkerSize{GPUs: gpus}}))
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, text := range files {
				total += len(text)
			}
			if total > 1<<20 {
				t.Errorf("%s and what it brings along have %d bytes", script, total)
			}
		}
	}
}
