package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWriteReplacesTheFileAndLeavesNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"a long first content", "short"} {
		if err := Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("read %q, %v; want %q", got, err, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if all, err := filepath.Glob(path + "*"); err != nil || len(all) != 1 {
		t.Errorf("files %v, %v; want one", all, err)
	}
}
