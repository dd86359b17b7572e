// The guest is a program that tests run in a sandbox.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// terminated is the exit code after a SIGTERM.
const terminated = 7

func main() {
	var err error
	switch os.Args[1] {
	case "look":
		err = look(os.Args[2:])
	case "serve":
		err = serve(os.Args[2])
	case "call":
		err = call(os.Args[2])
	case "exit":
		code, convErr := strconv.Atoi(os.Args[2])
		if convErr == nil {
			os.Exit(code)
		}
		err = convErr
	}
	if err != nil {
		fmt.Println("guest:", err)
		os.Exit(1)
	}
}

// look prints what the guest sees of its world as JSON.
func look(args []string) error {
	seen := map[string]any{"args": args, "env": os.Environ(), "pid": os.Getpid()}
	var err error
	if seen["cwd"], err = os.Getwd(); err != nil {
		return err
	}
	files := map[string]string{}
	err = filepath.WalkDir("/", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == "/manager" || path == os.DevNull {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		return err
	}
	seen["files"] = files
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	var names []string
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	seen["interfaces"] = names
	if err := os.WriteFile(os.DevNull, []byte("x"), 0); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// serve answers "guest" to every HTTP request at the address until SIGTERM; it
// counts further signals for a moment.
func serve(address string) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nguest")
			if half, ok := conn.(*net.TCPConn); ok && half.CloseWrite() == nil {
				_, _ = io.Copy(io.Discard, conn) // until the client has ended
			}
			conn.Close()
		}
	}()
	fmt.Println("ready")
	<-signals
	n := 1
	for wait := time.After(300 * time.Millisecond); ; {
		select {
		case <-signals:
			n++
		case <-wait:
			fmt.Println("signals:", n)
			os.Exit(terminated)
		}
	}
}

// call prints what the address answers.
func call(address string) error {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	fmt.Printf("answer: %s\n", answer)
	return err
}
