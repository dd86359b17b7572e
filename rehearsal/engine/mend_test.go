package engine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ray-on-aks/rehearsal/atomicfile"
	"ray-on-aks/rehearsal/layout"
)

// A state that was cut off on a full disk is replaced by the last whole one;
// where there is none, nothing is touched.
func TestStateThatIsCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		state, want string
		kept        []string
		fails       bool
	}{
		"whole":         {state: `{"a": 3}`, kept: []string{`{"a": 1}`}, want: `{"a": 3}`},
		"cut off":       {state: `{"a":`, kept: []string{`{"a": 1}`, `{"a": 2}`, `{"a":`}, want: `{"a": 2}`},
		"empty":         {state: ``, kept: []string{`{"a": 1}`}, want: `{"a": 1}`},
		"none is whole": {state: `{"a":`, kept: []string{`{`}, want: `{"a":`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{Dir: layout.Dir(t.TempDir()), Stack: "rehearsal"}
			write(t, e.stateFile(), test.state)
			for i, text := range test.kept {
				path := filepath.Join(e.keptDir(), string(rune('a'+i)))
				write(t, path, text)
				at := time.Now().Add(time.Duration(i-10) * time.Second)
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
			write(t, e.stateFile()+".attrs", "")
			if _, err := e.wholeState(); (err != nil) != test.fails {
				t.Errorf("fails with %v", err)
			}
			if got, err := os.ReadFile(e.stateFile()); err != nil || string(got) != test.want {
				t.Errorf("the state is %q, want %q; %v", got, test.want, err)
			}
			if _, err := os.Stat(e.stateFile() + ".attrs"); !os.IsNotExist(err) {
				t.Errorf("attributes that nothing was written of are still there: %v", err)
			}
		})
	}
}

// Each state that is put in the place of the one before is kept, the last ones
// for good.
func TestStatesAreKept(t *testing.T) {
	e := &Engine{Dir: layout.Dir(t.TempDir()), Stack: "rehearsal"}
	write(t, e.stateFile(), `{"a": 0}`)
	stop, err := e.keepStates()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"a": 1}`, `{"a": 2}`, `{"a": 3}`, `{"a": 4}`, `{"a":`} {
		if err := atomicfile.Write(e.stateFile(), []byte(text)); err != nil {
			t.Fatal(err)
		}
		// The backend takes its time, too: it writes copies.
		time.Sleep(50 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got, err := e.wholeState(); err != nil || string(got) != `{"a": 4}` {
		t.Errorf("the last whole state is %q, %v", got, err)
	}
}
