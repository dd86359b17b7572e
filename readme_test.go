package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ray-on-aks/infra"
	"ray-on-aks/internal/stacktest"
	"ray-on-aks/workloads"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/urn"
)

// drawn are the parts of the README that are made from the code, by the name in their marks.
var drawn = map[string]func(t *testing.T) string{
	"house":   drawHouse,
	"job":     drawJob,
	"catalog": drawCatalog,
	"nodes":   drawNodes,
}

// TestReadmeIsDrawnFromTheCode: its pictures and tables are what the program makes of the sample stacks. With -update they are drawn anew.
func TestReadmeIsDrawnFromTheCode(t *testing.T) {
	const path = "README.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, name := range slices.Sorted(maps.Keys(drawn)) {
		begin, end := "<!-- "+name+", drawn by TestReadmeIsDrawnFromTheCode -->\n", "<!-- end of "+name+" -->\n"
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for %s", path, name)
		}
		text = before + begin + "\n" + drawn[name](t) + "\n" + end + after
	}
	stacktest.GoldenText(t, path, text)
}

// drawHouse lists what each component makes of a production stack, and how often.
func drawHouse(t *testing.T) string {
	t.Helper()
	const file = "Pulumi.prod-eastus2.yaml"
	r := stacktest.Run(t, program, stacktest.Options{Stack: "prod-eastus2", Config: stackConfig(t, file)})
	counts := map[string]map[string]int{}
	for _, res := range r.Resources {
		parent := urn.URN(res.Parent)
		if !res.Custom || !parent.IsValid() || parent.Type().Package() != stacktest.Project {
			continue
		}
		component := string(parent.Type().Name())
		if counts[component] == nil {
			counts[component] = map[string]int{}
		}
		counts[component][res.Type[strings.LastIndexByte(res.Type, ':')+1:]]++
	}
	about := map[string]string{"Infra": "where it runs", "Queues": "who may use it", "Workloads": "what runs"}
	if !slices.Equal(slices.Sorted(maps.Keys(counts)), slices.Sorted(maps.Keys(about))) {
		t.Fatalf("the components are %v", slices.Sorted(maps.Keys(counts)))
	}
	var b strings.Builder
	b.WriteString("```text\nPulumi.prod-eastus2.yaml ── config.go ── main.go\n")
	for i, component := range []string{"Infra", "Queues", "Workloads"} {
		fmt.Fprintf(&b, "%s─ %s: %s\n", []string{"├", "├", "└"}[i], strings.ToLower(component), about[component])
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(counts[component])) {
			if n := counts[component][kind]; n > 1 {
				kind = fmt.Sprintf("%s ×%d", kind, n)
			}
			kinds = append(kinds, kind)
		}
		for _, line := range wrapped(kinds, 110) {
			fmt.Fprintf(&b, "%s     %s\n", []string{"│", "│", " "}[i], line)
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// wrapped puts words into lines of at most so many letters.
func wrapped(words []string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words {
		if line != "" && len(line)+len(word)+2 > width {
			lines = append(lines, line+",")
			line = ""
		}
		if line != "" {
			line += ", "
		}
		line += word
	}
	return append(lines, line)
}

// aboutProgram is the first line of a program's documentation.
var aboutProgram = regexp.MustCompile(`^"""(.*)\.\n`)

// drawCatalog lists the catalog's workloads, with what their programs say of themselves.
func drawCatalog(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| workload | kind | workers × GPUs | reads and writes | program |\n|---|---|---|---|---|\n")
	catalog := workloads.Catalog()
	for _, name := range slices.Sorted(maps.Keys(catalog)) {
		w := catalog[name]
		source, err := os.ReadFile(filepath.Join("workloads", "entrypoints", w.Script))
		if err != nil {
			t.Fatal(err)
		}
		about := aboutProgram.FindSubmatch(source)
		if about == nil {
			t.Fatalf("%s does not say what it does", w.Script)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %d × %d | %s | %s |\n", name, w.Kind, w.Workers, w.Worker.GPUs, strings.Join(w.Storage, ", "), about[1])
	}
	return b.String()
}

// drawNodes lists the nodes that the sample stacks keep, and those that they may grow to.
func drawNodes(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| stack | nodes while nothing runs | nodes at full quota |\n|---|---|---|\n")
	for _, file := range stackFiles(t) {
		cfg := resolve(t, file).Infra
		system := fmt.Sprintf("%d × %s", cfg.Cluster.System.Count, cfg.Cluster.System.VMSize)
		idle, full := []string{system}, []string{system}
		for _, name := range cfg.Pools.Names() {
			pool := cfg.Pools[name]
			if pool.Min > 0 {
				idle = append(idle, nodesOf(pool, pool.Min))
			}
			full = append(full, nodesOf(pool, pool.Max))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", stackName(file), strings.Join(idle, ", "), strings.Join(full, ", "))
	}
	return b.String()
}

func nodesOf(pool infra.Pool, count int) string { return fmt.Sprintf("%d × %s", count, pool.VMSize) }

// TestReadmeHasEveryOutput in its table, and no other.
func TestReadmeHasEveryOutput(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n### What a stack gives out\n")
	section, _, _ = strings.Cut(section, "\n#")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| ((?:`[A-Za-z]+`(?:, )?)+) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(row[1], ", ") {
			listed = append(listed, strings.Trim(name, "`"))
		}
	}
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(exported)); !slices.Equal(listed, want) {
		t.Errorf("the README lists the outputs %v\nthe program has %v", listed, want)
	}
}

// TestReadmeNamesWhatThereIs: each target of make and each test that the documentation names is there.
func TestReadmeNamesWhatThereIs(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	named := 0
	for _, page := range []string{"README.md", "CONTRIBUTING.md", filepath.Join("docs", "runs.md"), filepath.Join("workloads", "entrypoints", "README.md")} {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9-]+)").FindAllSubmatch(data, -1) {
			named++
			if !regexp.MustCompile(`(?m)^` + string(target[1]) + `:`).Match(makefile) {
				t.Errorf("%s: there is no target %s", page, target[1])
			}
		}
		for _, pattern := range regexp.MustCompile("-run\\s+'?([A-Za-z|]+)'?|`(Test[A-Za-z]+)`").FindAllSubmatch(data, -1) {
			named++
			for _, want := range strings.Split(string(pattern[1])+string(pattern[2]), "|") {
				if !slices.ContainsFunc(tests, func(name string) bool { return strings.Contains(name, want) }) {
					t.Errorf("%s: no test has %s in its name", page, want)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d targets and tests were found", named)
	}
}

// testNames are the names of all tests of the repository.
func testNames(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(data, -1) {
			names = append(names, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
