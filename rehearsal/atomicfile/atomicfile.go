// Package atomicfile writes files at once or not at all, so that a crash or a
// reader never meets half of one.
package atomicfile

import "os"

// Write replaces the file by one that only its owner may read.
func Write(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
