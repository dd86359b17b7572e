package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ray-on-aks/internal/stacktest"
)

// invalidStacks is the corpus of stacks that cannot work, each as somebody would write it. A file begins with the field case that it is of,
// and ends with what its user is told.
const invalidStacks = "testdata/invalid"

// refusedWith parts a file of the corpus from what its user is told, which -update writes.
const refusedWith = "\n# Refused with:\n"

// TestInvalidStacksAreRefused previews each stack of the corpus with the whole program.
func TestInvalidStacksAreRefused(t *testing.T) {
	for _, file := range invalidFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			config := stackConfig(t, file)
			recording, err := stacktest.Try(t, program, stacktest.Options{Stack: "dev", Config: config, Preview: true})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, r := range recording.Resources {
				t.Errorf("%s is registered all the same", r.URN())
			}
			told := refusal(err)
			paths := pathsOf(config)
			for line := range strings.Lines(told) {
				if !beginsWithPath(line, paths) {
					t.Errorf("no key of the file is named by: %s", line)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			stack, _, _ := strings.Cut(string(data), refusedWith)
			stacktest.GoldenText(t, file, strings.TrimSuffix(stack, "\n")+refusedWith+commented(told))
		})
	}
}

func invalidFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(invalidStacks, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no invalid stacks: %v", err)
	}
	return files
}

// refusal is what the program returned; the SDK makes a list of one of it.
func refusal(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return err.Error()
}

func commented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// pathsOf lists the paths of all that a stack says, as messages write them.
func pathsOf(config map[string]string) []string {
	var paths []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		paths = append(paths, path)
		switch v := value.(type) {
		case map[string]any:
			for key, child := range v {
				walk(path+"."+key, child)
			}
		case []any:
			for i, child := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), child)
			}
		}
	}
	for full, text := range config {
		paths = append(paths, full)
		if key, ours := strings.CutPrefix(full, stacktest.Project+":"); ours {
			var value any
			if json.Unmarshal([]byte(text), &value) != nil {
				value = text
			}
			walk(key, value)
		}
	}
	return paths
}

// further is what may follow on the path of something in a file: the path of a key that it lacks.
var further = regexp.MustCompile(`^(\.[A-Za-z]+|\[\d+\])*: .`)

// beginsWithPath says whether the line of a message begins with the path of something that the file says, or of a key that it lacks there.
func beginsWithPath(line string, paths []string) bool {
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(line, path); ok && further.MatchString(rest) {
			return true
		}
	}
	return false
}
