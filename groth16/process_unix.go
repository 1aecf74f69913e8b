//go:build unix

package groth16

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func processFigures() Process {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return Process{}
	}
	rss := int64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" { // there it is in bytes
		rss <<= 10
	}
	return Process{rss, int64(u.Minflt), int64(u.Majflt)}
}
