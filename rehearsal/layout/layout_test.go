package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxSocketPath is how long a Unix socket's path may be on Linux.
const maxSocketPath = 107

// deep answers a rehearsal whose folder has a longer path than any socket.
func deep(t *testing.T) Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), strings.Repeat("a-deep-folder/", 20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestSocketPathsAreShortHoweverDeepTheFolder(t *testing.T) {
	d := deep(t)
	sockets, err := d.Sockets()
	if err != nil {
		t.Fatal(err)
	}
	// The longest name in use is that of a pod: 13 characters and an ending.
	if path := filepath.Join(sockets, "01234567-89ab.sock"); len(path) > maxSocketPath {
		t.Errorf("a socket's path has %d bytes: %s", len(path), path)
	}
	again, err := d.Sockets()
	if err != nil || again != sockets {
		t.Errorf("the second time: %q, %v; want %q", again, err, sockets)
	}
	other, err := Dir(string(d) + "-other").Sockets()
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	if other == sockets {
		t.Error("two rehearsals share a folder for sockets")
	}
}

func TestAnUnsafeSocketFolderIsRefused(t *testing.T) {
	for name, prepare := range map[string]func(path string) error{
		"open to others": func(path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Chmod(path, 0o755)
		},
		"a link":            func(path string) error { return os.Symlink(filepath.Dir(path), path) },
		"a file":            func(path string) error { return os.WriteFile(path, nil, 0o700) },
		"of another person": func(path string) error { return foreign(t, path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			d := deep(t)
			if err := prepare(d.socketPath()); err != nil {
				t.Fatal(err)
			}
			if path, err := d.Sockets(); err == nil {
				t.Errorf("%s was taken", path)
			}
		})
	}
}

// foreign makes a folder that looks private but is somebody else's, where the
// test may do that.
func foreign(t *testing.T, path string) error {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	const nobody = 65534
	if os.Getuid() != 0 {
		// Only root can give a folder away: make it unsafe in the other way.
		return os.Chmod(path, 0o777)
	}
	return os.Chown(path, nobody, nobody)
}

func TestRemoveLeavesNothing(t *testing.T) {
	d := deep(t)
	sockets, err := d.Sockets()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sockets, "s"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Cloud(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{sockets, string(d)} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

func TestOpenMakesARelativePathAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	d, err := Open("here")
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(string(d)) {
		t.Errorf("%s is relative", d)
	}
	if info, err := os.Stat(string(d)); err != nil || !info.IsDir() {
		t.Errorf("the folder was not made: %v", err)
	}
}
