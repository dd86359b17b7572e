package engine

import (
	"os"
	"path/filepath"
	"testing"

	"ray-on-aks/rehearsal/layout"
)

// A state that was cut off on a full disk is replaced by the engine's own copy;
// where that is cut off too, nothing is touched.
func TestStateThatIsCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		state, kept, want string
		fails             bool
	}{
		"whole":    {`{"a": 1}`, `{"a": 0}`, `{"a": 1}`, false},
		"cut off":  {`{"a":`, `{"a": 0}`, `{"a": 0}`, false},
		"empty":    {``, `{"a": 0}`, `{"a": 0}`, false},
		"both are": {`{"a":`, `{`, `{"a":`, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{Dir: layout.Dir(t.TempDir()), Stack: "rehearsal"}
			path := e.stateFile()
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{path: test.state, path + ".bak": test.kept} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := e.wholeState(); (err != nil) != test.fails {
				t.Errorf("fails with %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != test.want {
				t.Errorf("the state is %q, want %q; %v", got, test.want, err)
			}
		})
	}
}
