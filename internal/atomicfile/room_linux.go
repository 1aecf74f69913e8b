package atomicfile

import (
	"fmt"
	"math/bits"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckRoom is an error (ENOSPC) where a file of n bytes at path cannot be written: better at once than after an hour. It reserves
// nothing.
func CheckRoom(path string, n int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &st); err != nil {
		return nil // who creates the file will hear of it
	}
	high, free := bits.Mul64(st.Bavail, uint64(max(st.Bsize, 0)))
	if high == 0 && st.Blocks > 0 && free < uint64(max(n, 0)) {
		return fmt.Errorf("%s: %d bytes are needed, %d are free: %w", path, n, free, unix.ENOSPC)
	}
	return nil
}
