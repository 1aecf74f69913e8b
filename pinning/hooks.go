package pinning

import (
	"slices"
	"sync"
)

// owners knows which buffers are open, and what is to be done before they are closed.
var owners = struct {
	mu    sync.Mutex
	hooks map[*Buffer][]*closeHook
}{hooks: map[*Buffer][]*closeHook{}}

type closeHook struct{ f func() }

func (b *Buffer) enter() {
	owners.mu.Lock()
	defer owners.mu.Unlock()
	owners.hooks[b] = nil
}

// leave runs what is to be done while the memory is still there.
func (b *Buffer) leave() {
	owners.mu.Lock()
	hooks := owners.hooks[b]
	delete(owners.hooks, b)
	owners.mu.Unlock()
	for _, h := range hooks {
		h.f()
	}
}

// Owner is the open buffer that mem is a part of, or nil where this package did not allocate it.
func Owner(mem []byte) *Buffer {
	if len(mem) == 0 {
		return nil
	}
	owners.mu.Lock()
	defer owners.mu.Unlock()
	for b := range owners.hooks {
		if len(b.mem) > 0 && within(mem, b.mem) {
			return b
		}
	}
	return nil
}

// BeforeClose makes f run when the buffer is closed, while its memory is still there: to take back a registration with a device for
// instance. drop takes that back; f may still be running then. On a closed buffer f is never run and ok is false.
func (b *Buffer) BeforeClose(f func()) (drop func(), ok bool) {
	h := &closeHook{f}
	owners.mu.Lock()
	defer owners.mu.Unlock()
	if _, open := owners.hooks[b]; !open {
		return func() {}, false
	}
	owners.hooks[b] = append(owners.hooks[b], h)
	return func() {
		owners.mu.Lock()
		defer owners.mu.Unlock()
		if hooks, open := owners.hooks[b]; open {
			owners.hooks[b] = slices.DeleteFunc(hooks, func(x *closeHook) bool { return x == h })
		}
	}, true
}
