package pinning

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SystemMemory is what this process may use: the machine's memory or the limit of its control group, whichever is less,
// in bytes. 0 means unknown. Some virtual machines start small and grow: give budgets there.
func SystemMemory() int64 {
	var total int64
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) == nil {
		total = int64(uint64(si.Totalram) * uint64(si.Unit))
	}
	if l := cgroupLimit("/sys/fs/cgroup", "/proc/self/cgroup"); l > 0 && (total == 0 || l < total) {
		total = l
	}
	return total
}

// cgroupLimit is the least memory limit on the way from this process's group to the root, version 2 or 1; 0 if none.
func cgroupLimit(root, self string) int64 {
	least := int64(0)
	use := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			return
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		if err != nil || n <= 0 || n >= 1<<60 { // "max", or version 1's way to say it
			return
		}
		if least == 0 || n < least {
			least = n
		}
	}
	up := func(base, dir, file string) {
		for {
			use(filepath.Join(base, dir, file))
			if dir == "/" || dir == "." || dir == "" {
				return
			}
			dir = filepath.Dir(dir)
		}
	}
	b, err := os.ReadFile(self)
	if err != nil {
		use(filepath.Join(root, "memory.max"))
		return least
	}
	for _, line := range strings.Split(string(b), "\n") {
		f := strings.SplitN(line, ":", 3)
		switch {
		case len(f) != 3:
		case f[1] == "":
			up(root, f[2], "memory.max")
		case strings.Contains(","+f[1]+",", ",memory,"):
			up(filepath.Join(root, "memory"), f[2], "memory.limit_in_bytes")
		}
	}
	return least
}

// LockLimit is how many bytes the process may lock in memory; -1 is unlimited.
func LockLimit() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil {
		return 0
	}
	if r.Cur == unix.RLIM_INFINITY || r.Cur > 1<<62 {
		return -1
	}
	return int64(r.Cur)
}

// Usage is what the process has used of the machine so far.
type Usage struct {
	PeakRSS                  int64 // bytes
	MinorFaults, MajorFaults int64
	UserNanos, SystemNanos   int64
}

// ReadUsage asks the operating system.
func ReadUsage() Usage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return Usage{}
	}
	return Usage{PeakRSS: int64(r.Maxrss) << 10, MinorFaults: int64(r.Minflt), MajorFaults: int64(r.Majflt),
		UserNanos: r.Utime.Nano(), SystemNanos: r.Stime.Nano()}
}
