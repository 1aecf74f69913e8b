package main

import (
	"encoding/binary"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

var counterEvents = []struct {
	kind   uint32
	config uint64
}{
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_BRANCH_MISSES},
	{unix.PERF_TYPE_HW_CACHE, unix.PERF_COUNT_HW_CACHE_DTLB | unix.PERF_COUNT_HW_CACHE_OP_READ<<8 | unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16},
}

// counters count on every thread that the process has, and on those that these make.
type counters struct{ fds [][]int } // by event

func openCounters() *counters {
	c := &counters{fds: make([][]int, len(counterEvents))}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return c
	}
	for i, e := range counterEvents {
		attr := unix.PerfEventAttr{Type: e.kind, Config: e.config, Bits: unix.PerfBitInherit | unix.PerfBitExcludeKernel}
		attr.Size = uint32(unsafe.Sizeof(attr))
		for _, t := range threads {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			if fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC); err == nil {
				c.fds[i] = append(c.fds[i], fd)
			}
		}
	}
	return c
}

func (c *counters) stop() Counts {
	var out Counts
	for i, fds := range c.fds {
		var sum uint64
		for _, fd := range fds {
			var b [8]byte
			if n, err := unix.Read(fd, b[:]); err == nil && n == 8 {
				sum += binary.NativeEndian.Uint64(b[:])
			}
			unix.Close(fd)
		}
		if len(fds) > 0 {
			if out == nil {
				out = Counts{}
			}
			out[counterNames[i]] = sum
		}
	}
	return out
}
