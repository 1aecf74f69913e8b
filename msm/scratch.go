package msm

import (
	"errors"
	"unsafe"

	"github.com/filgroth/filgroth/pinning"
)

// hugeFrom is the size from which scratch lies outside the Go heap, in huge pages: random
// access to it costs much less there.
const hugeFrom = 1 << 22

// scratch are slices for the time of a pass.
type scratch struct{ buffers []*pinning.Buffer }

func (s *scratch) close() error {
	var errs []error
	for _, b := range s.buffers {
		errs = append(errs, b.Close())
	}
	s.buffers = nil
	return errors.Join(errs...)
}

// take makes a slice of n zero values without pointers, valid until s is closed.
func take[T any](s *scratch, n int) ([]T, error) {
	size := n * int(unsafe.Sizeof(*new(T)))
	if size < hugeFrom {
		return make([]T, n), nil
	}
	b, err := pinning.AllocWith(size, "msm scratch", pinning.Options{HugePages: true})
	if err != nil {
		return nil, err
	}
	s.buffers = append(s.buffers, b)
	return pinning.Slice[T](b, n), nil
}

// sortMemory holds the sorted entries of a group of windows.
type sortMemory struct {
	entries []entry
	fine    []uint16
}

func newSortMemory(s *scratch, windows, n int) (*sortMemory, error) {
	var m sortMemory
	var err error
	if m.entries, err = take[entry](s, windows*n); err != nil {
		return nil, err
	}
	m.fine, err = take[uint16](s, windows*n)
	return &m, err
}

func (m *sortMemory) window(w, n int) ([]entry, []uint16) {
	return m.entries[w*n : (w+1)*n], m.fine[w*n : (w+1)*n]
}
