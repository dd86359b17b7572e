package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// errBusy says that another holder has the lock.
var errBusy = errors.New("held by another writer")

// lock takes an advisory lock that the kernel drops when its holder dies.
func lock(path string, wait bool) (release func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		// A signal of the runtime may interrupt the wait.
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errBusy
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}

// Hold marks a write to key as in flight. It answers false while another
// holder, here or in another process, has the same key; a holder that dies
// lets go by itself.
func (s *Store) Hold(key string) (release func() error, held bool, err error) {
	folder := s.path + ".inflight"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, false, fmt.Errorf("marking a write in flight: %w", err)
	}
	// Ids hold slashes and may be longer than a file name.
	sum := sha256.Sum256([]byte(key))
	release, err = lock(filepath.Join(folder, hex.EncodeToString(sum[:8])), false)
	if errors.Is(err, errBusy) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("marking a write in flight: %w", err)
	}
	return release, true, nil
}
