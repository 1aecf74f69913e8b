//go:build !unix

package pinning

// Without mmap the Go heap has to serve; the interface stays the same.
func mapAnonymous(n int) ([]byte, error) { return make([]byte, n), nil }

func unmap([]byte) error { return nil }
