//go:build !linux

package pinning

// SystemMemory is what this process may use, in bytes; 0 means unknown.
func SystemMemory() int64 { return 0 }

// LockLimit is how many bytes the process may lock in memory; -1 is unlimited.
func LockLimit() int64 { return 0 }

// Usage is what the process has used of the machine so far; all zero where it is not known.
type Usage struct {
	PeakRSS                  int64 // bytes
	MinorFaults, MajorFaults int64
	UserNanos, SystemNanos   int64
}

// ReadUsage asks the operating system.
func ReadUsage() Usage { return Usage{} }
