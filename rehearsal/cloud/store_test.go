package cloud_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"ray-on-aks/rehearsal/cloud"
)

const (
	envStore  = "CLOUD_TEST_STORE"
	envWriter = "CLOUD_TEST_WRITER"
)

// TestMain lets the test binary act as a writer process of its own.
func TestMain(m *testing.M) {
	if path := os.Getenv(envStore); path != "" {
		store := cloud.Open(path)
		for i := 0; ; i++ {
			if err := put(store, fmt.Sprintf("%s-%d", os.Getenv(envWriter), i%50), i); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	os.Exit(m.Run())
}

func put(s *cloud.Store, id string, n int) error {
	return s.Update(func(r cloud.Resources) error {
		r[id] = cloud.Record{Type: "t", Outputs: map[string]any{"n": n}}
		return nil
	})
}

func count(t *testing.T, s *cloud.Store) (n int) {
	t.Helper()
	if err := s.View(func(r cloud.Resources) error { n = len(r); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "cloud.json")
	if got := count(t, cloud.Open(path)); got != 0 {
		t.Fatalf("a cloud without a file has %d resources", got)
	}
	const writers, each = 8, 10
	var group sync.WaitGroup
	for w := range writers {
		// Each has a Store of its own, as separate processes have.
		store := cloud.Open(path)
		group.Go(func() {
			for i := range each {
				if err := put(store, fmt.Sprintf("%d-%d", w, i), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if got := count(t, cloud.Open(path)); got != writers*each {
		t.Errorf("%d resources, want %d", got, writers*each)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v: it holds opened secrets", info.Mode().Perm())
	}
}

func TestFailedUpdateChangesNothing(t *testing.T) {
	store := cloud.Open(filepath.Join(t.TempDir(), "cloud.json"))
	if err := put(store, "a", 1); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	err := store.Update(func(r cloud.Resources) error { delete(r, "a"); return refused })
	if !errors.Is(err, refused) {
		t.Fatalf("got %v", err)
	}
	if count(t, store) != 1 {
		t.Error("a refused update was stored")
	}
}

// Two writer processes are killed at arbitrary points; whatever they were
// doing, the file decodes and accepts the next write.
func TestKilledWritersLeaveAReadableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud.json")
	for round := range 6 {
		var writers []*exec.Cmd
		for _, name := range []string{"a", "b"} {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			cmd.Env = append(os.Environ(), envStore+"="+path, envWriter+"="+name)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			writers = append(writers, cmd)
		}
		time.Sleep(time.Duration(80+17*round) * time.Millisecond)
		for _, cmd := range writers {
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Errorf("a writer ended by itself: %v", err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("a writer ended by itself")
			}
		}
		if data, err := os.ReadFile(path); err == nil && !json.Valid(data) {
			t.Fatal("the file is not JSON")
		}
		if err := put(cloud.Open(path), "after", round); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud.json")
	if err := os.WriteFile(path, []byte(`{"a":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := put(cloud.Open(path), "b", 1); err == nil {
		t.Error("a damaged file was overwritten")
	}
}

func TestHoldIsExclusivePerKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud.json")
	release, held, err := cloud.Open(path).Hold("identity-a")
	if err != nil || !held {
		t.Fatal(held, err)
	}
	if _, held, err := cloud.Open(path).Hold("identity-a"); err != nil || held {
		t.Errorf("held twice: %v %v", held, err)
	}
	other, held, err := cloud.Open(path).Hold("identity-b")
	if err != nil || !held {
		t.Fatal("another key is held up", err)
	}
	if err := errors.Join(release(), other()); err != nil {
		t.Fatal(err)
	}
	again, held, err := cloud.Open(path).Hold("identity-a")
	if err != nil || !held {
		t.Fatal("not released", err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
}
