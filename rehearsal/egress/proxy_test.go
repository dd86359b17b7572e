package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// known dials one address and nothing else.
type known struct {
	host   string
	target string
}

func (k known) Dial(_ context.Context, host string, _ int32) (net.Conn, error) {
	if host != k.host {
		return nil, errUnknown
	}
	return net.Dial("tcp", k.target)
}

// serve starts the proxy in front of an echoing server known as 10.0.0.7.
func serve(t *testing.T) string {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	}))
	t.Cleanup(upstream.Close)
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	d := known{"10.0.0.7", strings.TrimPrefix(upstream.URL, "http://")}
	if err := Serve(ctx, socket, d, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return socket
}

func TestConnectTunnelsToAKnownAddress(t *testing.T) {
	socket := serve(t)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT 10.0.0.7:443 HTTP/1.1\r\nHost: 10.0.0.7:443\r\n\r\n")
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %v, %v", answer, err)
	}
	fmt.Fprint(conn, "GET /inside HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	inner, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Body.Close()
	if body, err := io.ReadAll(inner.Body); err != nil || string(body) != "GET /inside" {
		t.Errorf("through the tunnel came %q, %v", body, err)
	}
}

func TestUnknownAddressesAreRefusedEvenIfSomebodyListensThere(t *testing.T) {
	socket := serve(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", listener.Addr())
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusBadGateway {
		t.Errorf("a reachable address outside the cluster was answered with %s", answer.Status)
	}
}

func TestPlainRequestsAreForwardedToKnownAddressesAlone(t *testing.T) {
	socket := serve(t)
	client := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", socket)
		},
	}}
	for target, want := range map[string]int{
		"http://10.0.0.7:8265/api/jobs/": http.StatusOK,
		"http://10.0.0.8:8265/api/jobs/": http.StatusBadGateway,
	} {
		answer, err := client.Get(target)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", target, answer.Status, want)
		}
	}
}
