//go:build unix

package pinning

import "golang.org/x/sys/unix"

// HostLock keeps memory from being swapped out (mlock), within RLIMIT_MEMLOCK. For a device it locks nothing: CUDA copies fast only
// from memory that was registered with it.
type HostLock struct{}

var _ Registrar = HostLock{}

// Register implements Registrar.
func (h HostLock) Register(mem []byte, chunk int) error {
	for at, part := range parts(mem, chunk) {
		if err := unix.Mlock(part); err != nil {
			_ = h.Unregister(mem[:at], chunk)
			return err
		}
	}
	return nil
}

// Unregister implements Registrar.
func (HostLock) Unregister(mem []byte, chunk int) (first error) {
	for _, part := range parts(mem, chunk) {
		if err := unix.Munlock(part); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// parts yields mem in pieces with their offsets.
func parts(mem []byte, chunk int) func(yield func(int, []byte) bool) {
	if chunk <= 0 {
		chunk = max(1, len(mem))
	}
	return func(yield func(int, []byte) bool) {
		for at := 0; at < len(mem); at += chunk {
			if !yield(at, mem[at:min(at+chunk, len(mem))]) {
				return
			}
		}
	}
}
