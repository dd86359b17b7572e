package pods

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// folder makes a folder with one file.
func folder(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAProgramSeesItsMountsAndEnvironmentAndNothingElse(t *testing.T) {
	// Nested mounts must both be seen, whatever order a map gives them in.
	outer := folder(t, "outer.txt", "outer")
	mounts := map[string]string{
		"/etc/config": folder(t, "a.yaml", "a: 1"),
		"/b.yaml":     filepath.Join(folder(t, "b.yaml", "b: 2"), "b.yaml"),
		"/var":        outer, "/var/in": folder(t, "in.txt", "in"), "/var/in/side": folder(t, "side.txt", "side"),
	}
	want := map[string]string{
		"/etc/config/a.yaml": "a: 1", "/b.yaml": "b: 2", "/var/outer.txt": "outer", "/var/in/in.txt": "in", "/var/in/side/side.txt": "side",
	}
	g := startGuest(t, func(s *Sandbox) {
		maps.Copy(s.Mounts, mounts)
		s.Env = []string{"A=1", "B=two words"}
	}, "look", "--flag=x", "y z")
	if code := g.wait(); code != 0 {
		t.Fatalf("exit code %d: %s", code, g.output())
	}
	var seen struct {
		Args, Env, Interfaces []string
		Cwd                   string
		Files                 map[string]string
	}
	if err := json.Unmarshal([]byte(g.output()), &seen); err != nil {
		t.Fatalf("%v in %s", err, g.output())
	}
	if !maps.Equal(seen.Files, want) {
		t.Errorf("files: %v, want %v", seen.Files, want)
	}
	if want := []string{"A=1", "B=two words"}; !slices.Equal(seen.Env, want) {
		t.Errorf("environment: %v, want %v", seen.Env, want)
	}
	if want := []string{"--flag=x", "y z"}; !slices.Equal(seen.Args, want) {
		t.Errorf("arguments: %v, want %v", seen.Args, want)
	}
	if want := []string{"lo"}; !slices.Equal(seen.Interfaces, want) {
		t.Errorf("network interfaces: %v, want %v", seen.Interfaces, want)
	}
	if seen.Cwd != "/" {
		t.Errorf("started in %s", seen.Cwd)
	}
}

func TestAnEmptyEnvironmentIsNotFilledFromOutside(t *testing.T) {
	g := startGuest(t, nil, "look")
	if code := g.wait(); code != 0 || strings.Contains(g.output(), "FROM_OUTSIDE") {
		t.Errorf("exit code %d: %s", code, g.output())
	}
}

func TestPortsOfThePodAreReachedFromOutsideAndOthersRefused(t *testing.T) {
	g := startGuest(t, nil, "serve", "127.0.0.1:8080")
	g.awaitOutput("ready")
	for range 2 {
		conn, err := DialInbound(g.socket, 8080)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Error(err)
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "guest") {
			t.Errorf("the pod answers %q, %v", answer, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, port := range []int32{8081, 0, -1, 70000, 1234567} {
		if conn, err := DialInbound(g.socket, port); err == nil {
			conn.Close()
			t.Errorf("port %d was reached, though nothing listens there", port)
		}
	}
	if conn, err := DialInbound(filepath.Join(t.TempDir(), "none"), 8080); err == nil {
		conn.Close()
		t.Error("a pod that does not exist was reached")
	}
}

// outside serves a greeting at a Unix socket.
func outside(t *testing.T, greeting string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "out")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go greet(listener, greeting)
	return socket
}

func greet(listener net.Listener, greeting string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, greeting) // a lost greeting shows at the guest
		conn.Close()
	}
}

func TestTheOutsideIsReachedThroughItsRelaysAlone(t *testing.T) {
	api, proxy := outside(t, "I am the API server"), outside(t, "I am the proxy")
	relays := func(s *Sandbox) { s.Outbound = map[string]string{apiAddress: api, proxyAddress: proxy} }
	for address, want := range map[string]string{apiAddress: "I am the API server", proxyAddress: "I am the proxy"} {
		g := startGuest(t, relays, "call", address)
		if code := g.wait(); code != 0 || !strings.Contains(g.output(), "answer: "+want+"\n") {
			t.Errorf("%s: exit code %d, %q; want the answer %q", address, code, g.output(), want)
		}
	}
	// A port of this machine's own loopback is not the sandbox's.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go greet(listener, "I am the host")
	g := startGuest(t, relays, "call", listener.Addr().String())
	if code := g.wait(); code != 1 || !strings.Contains(g.output(), "connection refused") {
		t.Errorf("a port of the host: exit code %d, %q", code, g.output())
	}
}

func TestTheExitCodeIsPassedOn(t *testing.T) {
	if code := startGuest(t, nil, "exit", "42").wait(); code != 42 {
		t.Errorf("exit code %d, want 42", code)
	}
	if code := startGuest(t, nil, "exit", "0").wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	g := startGuest(t, func(s *Sandbox) { s.Command = []string{"/none"} })
	if code := g.wait(); code == 0 || !strings.Contains(g.output(), "starting /none") {
		t.Errorf("a program that is not there: exit code %d, %q", code, g.output())
	}
}

func TestASignalIsPassedOnOnce(t *testing.T) {
	g := startGuest(t, nil, "serve", "127.0.0.1:8080")
	g.awaitOutput("ready")
	// To the whole group, as a pod is stopped.
	g.Signal(syscall.SIGTERM)
	const terminated = 7 // see the guest
	if code := g.wait(); code != terminated || !strings.Contains(g.output(), "signals: 1\n") {
		t.Errorf("exit code %d, want %d; the guest printed %q, want one signal", code, terminated, g.output())
	}
}

func TestAKilledSandboxTakesItsProgramAlong(t *testing.T) {
	marker := t.TempDir()
	g := startGuest(t, nil, "serve", "127.0.0.1:8080", marker)
	g.awaitOutput("ready")
	if n := processes(t, marker); n != 1 {
		t.Fatalf("%d processes carry the marker, want the program", n)
	}
	g.Signal(syscall.SIGKILL)
	g.wait()
	eventually(t, "the program is gone", func() bool { return processes(t, marker) == 0 })
}

// processes counts the processes that have the text among their arguments.
func processes(t *testing.T, text string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		// A process that ended meanwhile has no file, and one that ended before no arguments.
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			n++
		}
	}
	return n
}
