// Package pinning holds the big host memory of a prover: buffers outside the Go heap with an owner, a purpose and a
// byte budget, so that a 4 GiB witness does not double the collector's goal and nothing is leaked unseen.
//
// Small or short-lived memory does not belong here; ordinary slices serve.
package pinning

import (
	"errors"
	"fmt"
	"sort"
	"sync"
	"unsafe"
)

var (
	// ErrClosed: a buffer was closed twice, or used after Close.
	ErrClosed = errors.New("pinning: buffer closed")
	// ErrBudget: a request that can never fit into its budget.
	ErrBudget = errors.New("pinning: over the memory budget")
)

// AllocError is the failure of the operating system to give memory.
type AllocError struct {
	Bytes   int
	Purpose string
	Err     error
}

func (e *AllocError) Error() string {
	return fmt.Sprintf("pinning: %d bytes for %s: %v", e.Bytes, e.Purpose, e.Err)
}

func (e *AllocError) Unwrap() error { return e.Err }

// Buffer is zeroed, page-aligned memory outside the Go heap. It must be closed once by its owner; slices of it must not
// be used after that. It may be read concurrently.
type Buffer struct {
	mem     []byte
	purpose string
	closed  bool
	onClose func()
	placed  Placement
}

// Alloc gives n zeroed bytes for a purpose, which Live reports. n = 0 gives an empty buffer that is also to be closed.
func Alloc(n int, purpose string) (*Buffer, error) {
	if n < 0 {
		return nil, &AllocError{n, purpose, errors.New("negative size")}
	}
	b := &Buffer{purpose: purpose}
	if n > 0 {
		mem, err := mapAnonymous(n)
		if err != nil {
			return nil, &AllocError{n, purpose, err}
		}
		b.mem = mem
	}
	live.add(purpose, n, 1)
	b.enter()
	return b, nil
}

// Bytes is the whole buffer.
func (b *Buffer) Bytes() []byte { return b.mem }

// Len is its length in bytes.
func (b *Buffer) Len() int { return len(b.mem) }

// Purpose is what it was allocated for.
func (b *Buffer) Purpose() string { return b.purpose }

// OnClose makes f run once when the buffer is closed, for a budget's reservation for instance.
func (b *Buffer) OnClose(f func()) { b.onClose = f }

// Close gives the memory back. A second Close is ErrClosed.
func (b *Buffer) Close() error {
	if b.closed {
		return fmt.Errorf("%w: %s", ErrClosed, b.purpose)
	}
	b.closed = true
	b.leave()
	live.add(b.purpose, -len(b.mem), -1)
	mem := b.mem
	b.mem = nil
	if b.onClose != nil {
		defer b.onClose()
	}
	if len(mem) == 0 {
		return nil
	}
	return unmap(mem)
}

// Slice views the first n elements of type T in b. T must hold no pointers. It panics if b is too short, which is a
// programming error of the caller, never of its input.
func Slice[T any](b *Buffer, n int) []T {
	var t T
	if n == 0 {
		return nil
	}
	if uintptr(n)*unsafe.Sizeof(t) > uintptr(len(b.mem)) {
		panic(fmt.Sprintf("pinning: %d elements of %d bytes in a buffer of %d", n, unsafe.Sizeof(t), len(b.mem)))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.mem))), n)
}

// Use is what is allocated for one purpose at the moment.
type Use struct {
	Purpose string
	Bytes   int64
	Buffers int
}

type registry struct {
	mu sync.Mutex
	m  map[string]Use
}

var live = registry{m: map[string]Use{}}

func (r *registry) add(purpose string, bytes, buffers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.m[purpose]
	u.Purpose = purpose
	u.Bytes += int64(bytes)
	u.Buffers += buffers
	if u.Buffers == 0 {
		delete(r.m, purpose)
		return
	}
	r.m[purpose] = u
}

// Live lists what is allocated, by purpose; tests compare it before and after to find leaks.
func Live() []Use {
	live.mu.Lock()
	defer live.mu.Unlock()
	res := make([]Use, 0, len(live.m))
	for _, u := range live.m {
		res = append(res, u)
	}
	sort.Slice(res, func(i, j int) bool { return res[i].Purpose < res[j].Purpose })
	return res
}

// LiveBytes is the sum over all purposes.
func LiveBytes() int64 {
	var n int64
	for _, u := range Live() {
		n += u.Bytes
	}
	return n
}
