package pods

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"ray-on-aks/rehearsal/egress"
)

// relay connects the sandbox's network with the sockets outside.
func (s Sandbox) relay() error {
	for address, socket := range s.Outbound {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("listening inside the sandbox: %w", err)
		}
		go accept(listener, func(net.Conn) (net.Conn, error) { return net.Dial("unix", socket) })
	}
	if err := os.Remove(s.Inbound); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", s.Inbound)
	if err != nil {
		return fmt.Errorf("listening for the pod's ports: %w", err)
	}
	go accept(listener, dialPort)
	return nil
}

// accept pipes each connection to what open answers; one that cannot be opened
// is closed, as a port that nobody listens at would be.
func accept(listener net.Listener, open func(net.Conn) (net.Conn, error)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "sandbox: accepting:", err)
			return
		}
		go func() {
			defer conn.Close()
			other, err := open(conn)
			if err != nil {
				return
			}
			defer other.Close()
			egress.Pipe(conn, other)
		}()
	}
}

// dialPort reads the wanted port, a decimal number and a line feed, connects
// to it and answers "ok".
func dialPort(conn net.Conn) (net.Conn, error) {
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	var line []byte
	for one := make([]byte, 1); ; line = append(line, one[0]) {
		if _, err := io.ReadFull(conn, one); err != nil {
			return nil, err
		}
		if one[0] == '\n' || len(line) > 5 {
			break
		}
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, err
	}
	if _, err := strconv.ParseUint(string(line), 10, 16); err != nil {
		return nil, err
	}
	other, err := net.Dial("tcp", "127.0.0.1:"+string(line))
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(conn, accepted)
	return other, err
}

// accepted is the answer to a port that somebody listens at.
const accepted = "ok\n"

// DialInbound connects to a port of the pod behind the socket.
func DialInbound(socket string, port int32) (net.Conn, error) {
	conn, err := net.DialTimeout("unix", socket, 5*time.Second)
	if err != nil {
		return nil, err
	}
	// A sandbox that is being torn down may accept and never answer.
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if _, err := fmt.Fprintf(conn, "%d\n", port); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	answer, err := bufio.NewReaderSize(io.LimitReader(conn, int64(len(accepted))), len(accepted)).ReadString('\n')
	if err != nil || answer != accepted {
		return nil, errors.Join(fmt.Errorf("nothing listens at port %d of the pod", port), conn.Close())
	}
	return conn, conn.SetReadDeadline(time.Time{})
}
