//go:build long && unix

package groth16_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the processor time that this process has used.
func processTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
