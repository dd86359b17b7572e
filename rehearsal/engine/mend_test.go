package engine

import (
	"os"
	"testing"
	"time"

	"ray-on-aks/rehearsal/atomicfile"
	"ray-on-aks/rehearsal/layout"
)

// A state that was cut off on a full disk is replaced by the last whole one;
// where there is none, nothing is touched.
func TestStateThatIsCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		state, kept, want string
		fails             bool
	}{
		"whole":         {state: `{"a": 3}`, kept: `{"a": 1}`, want: `{"a": 3}`},
		"cut off":       {state: `{"a":`, kept: `{"a": 2}`, want: `{"a": 2}`},
		"empty":         {state: ``, kept: `{"a": 1}`, want: `{"a": 1}`},
		"none was kept": {state: `{"a":`, want: `{"a":`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{Dir: layout.Dir(t.TempDir()), Stack: "rehearsal"}
			write(t, e.stateFile(), test.state)
			write(t, e.stateFile()+".attrs", "")
			if test.kept != "" {
				write(t, e.keptFile(), test.kept)
			}
			if _, err := e.wholeState(); (err != nil) != test.fails {
				t.Errorf("fails with %v", err)
			}
			if got := read(t, e.stateFile()); got != test.want {
				t.Errorf("the state is %q, want %q", got, test.want)
			}
			if _, err := os.Stat(e.stateFile() + ".attrs"); !os.IsNotExist(err) {
				t.Errorf("attributes that nothing was written of are still there: %v", err)
			}
		})
	}
}

// The last whole state is kept, however often one that is cut off comes after it.
func TestTheLastWholeStateIsKept(t *testing.T) {
	e := &Engine{Dir: layout.Dir(t.TempDir()), Stack: "rehearsal"}
	write(t, e.stateFile(), `{"a": 0}`)
	stop, err := e.keepLastWhole()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"a": 1}`, `{"a": 2}`, `{"a":`, `{"a":`, `{"a":`, `{"a":`} {
		if err := atomicfile.Write(e.stateFile(), []byte(text)); err != nil {
			t.Fatal(err)
		}
		// The backend takes its time, too: it copies the state before it writes the next.
		time.Sleep(30 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got, err := e.wholeState(); err != nil || string(got) != `{"a": 2}` {
		t.Errorf("the last whole state is %q, %v", got, err)
	}
}
