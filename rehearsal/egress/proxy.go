// Package egress is the one way from the API server, and from the processes
// that stand in for pods, to the addresses of a rehearsed cluster. Those
// addresses exist on no network. The proxy knows them from the API and refuses
// every other: it never dials out.
package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"time"
)

// Dialer connects to an address of the cluster; a *Resolver is one.
type Dialer interface {
	Dial(ctx context.Context, host string, port int32) (net.Conn, error)
}

// Serve answers CONNECT requests (the API server's) and ordinary proxy
// requests (a process pod's) at a Unix socket until ctx ends.
func Serve(ctx context.Context, socket string, d Dialer, log *slog.Logger) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the old socket: %w", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listening for the API server: %w", err)
	}
	server := &http.Server{
		Handler:           newProxy(d, log),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		<-ctx.Done()
		if err := server.Close(); err != nil {
			log.Warn("closing the egress proxy", "error", err)
		}
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("egress proxy ended", "error", err)
		}
	}()
	return nil
}

type proxy struct {
	dialer  Dialer
	log     *slog.Logger
	forward *httputil.ReverseProxy
}

func newProxy(d Dialer, log *slog.Logger) *proxy {
	p := &proxy{dialer: d, log: log}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {}, // the request names its target already
		Transport: &http.Transport{
			Proxy: nil,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return p.dial(ctx, address)
			},
			// A pod's address may belong to another pod a moment later.
			DisableKeepAlives: true,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	return p
}

func (p *proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(portText, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", address, err)
	}
	conn, err := p.dialer.Dial(ctx, host, int32(port))
	if err != nil {
		p.log.Info("refused", "address", address, "reason", err)
	}
	return conn, err
}

// ServeHTTP tunnels a CONNECT and forwards any other proxy request.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		if !r.URL.IsAbs() {
			http.Error(w, "this is a proxy", http.StatusBadRequest)
			return
		}
		p.forward.ServeHTTP(w, r)
		return
	}
	upstream, err := p.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer upstream.Close()
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "this connection cannot be a tunnel", http.StatusInternalServerError)
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		p.log.Warn("taking over a connection", "error", err)
		return
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	Pipe(readerConn{conn, buffered.Reader}, upstream)
}

// readerConn reads what was buffered before the connection was taken over.
type readerConn struct {
	net.Conn
	buffered *bufio.Reader
}

func (c readerConn) Read(b []byte) (int, error) { return c.buffered.Read(b) }

// CloseWrite passes a half-close on.
func (c readerConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

// Pipe copies both ways until both sides have ended. An end in one direction
// is passed on, so that the answer to a half-closed request still arrives.
func Pipe(a, b net.Conn) {
	done := make(chan struct{}, 2)
	oneWay := func(to, from net.Conn) {
		defer func() { done <- struct{}{} }()
		if _, err := io.Copy(to, from); err != nil {
			// One side broke off; the other must not wait for it.
			to.Close()
			return
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			return
		}
		to.Close()
	}
	go oneWay(a, b)
	go oneWay(b, a)
	<-done
	<-done
}
