package pods

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sandbox is what a process pod sees: its own root, network and process ids,
// with the container's paths and ports exactly as the manifest has them. It
// takes a user namespace, and so no root.
type Sandbox struct {
	// Root is an empty folder that becomes the root file system.
	Root string
	// Mounts maps paths in the sandbox to paths outside.
	Mounts map[string]string
	// Command is the program, by its path in the sandbox, and its arguments.
	Command []string
	Env     []string
	// Inbound is the Unix socket through which the pod's ports are reached.
	Inbound string
	// Outbound maps loopback addresses in the sandbox to Unix sockets outside:
	// the API server and the proxy to other pods.
	Outbound map[string]string
}

// WriteFile stores the sandbox for Init.
func (s Sandbox) WriteFile(path string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// Attr answers the namespaces that Init must be started in.
func Attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{
			{ContainerID: 0, HostID: os.Getuid(), Size: 1},
		},
		GidMappings: []syscall.SysProcIDMap{
			{ContainerID: 0, HostID: os.Getgid(), Size: 1},
		},
	}
}

// Init runs inside the namespaces: it prepares them, runs the pod's program and
// relays its connections until it ends. It answers the program's exit code.
func Init(path string) (int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var s Sandbox
	if err := json.Unmarshal(data, &s); err != nil {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := loopbackUp(); err != nil {
		return 0, fmt.Errorf("bringing the sandbox's loopback up: %w", err)
	}
	if err := s.mount(); err != nil {
		return 0, err
	}
	if err := s.relay(); err != nil {
		return 0, err
	}
	return s.run()
}

// mount builds the root: an empty file system, a null device and the mounts.
func (s Sandbox) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", s.Root, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("mounting the sandbox's root: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(s.Root, "tmp"), 0o777); err != nil {
		return err
	}
	// In order of their paths, so that no mount hides one inside it.
	for _, target := range slices.Sorted(maps.Keys(s.Mounts)) {
		if err := bind(s.Mounts[target], filepath.Join(s.Root, target)); err != nil {
			return fmt.Errorf("mounting %s: %w", target, err)
		}
	}
	return bind(os.DevNull, filepath.Join(s.Root, os.DevNull))
}

// bind mounts a file or folder over a new one of the same kind.
func bind(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return err
		}
	} else if err := os.WriteFile(target, nil, 0o600); err != nil {
		return err
	}
	return unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// run starts the program in the root, passes signals on and waits for it.
func (s Sandbox) run() (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append([]string{}, s.Env...), "/", os.Stdout, os.Stderr
	// A process group of its own: it is to get each signal once, from here, since
	// controllers take a second one for a wish to end without a shutdown.
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: s.Root, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting %s: %w", strings.Join(s.Command, " "), err)
	}
	go func() {
		for sig := range signals {
			if err := cmd.Process.Signal(sig); err != nil {
				fmt.Fprintln(os.Stderr, "sandbox: passing a signal on:", err)
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
