//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock marks f as being written, as long as it is open. False says that another open file has the mark; a file system that knows
// none does not stop anybody.
func lock(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return err != unix.EWOULDBLOCK
}
