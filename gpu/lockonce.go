package gpu

import (
	"errors"
	"sync"

	"github.com/filgroth/filgroth/pinning"
)

// lockedOnce is the memory that PolicyRegisterOnce has page-locked: whole buffers of package pinning, until they are closed
// or the session is.
type lockedOnce struct {
	mu      sync.Mutex
	buffers map[*pinning.Buffer]*lockedBuffer
	err     error // of giving back when a buffer was closed
}

type lockedBuffer struct {
	mem  []byte
	drop func() // of the buffer's hook
}

// keep page-locks the buffer that mem is a part of, if it is not locked yet. kept is false where there is no such buffer.
func (l *lockedOnce) keep(s *session, mem []byte) (kept bool, err error) {
	b := pinning.Owner(mem)
	if b == nil {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buffers[b] != nil {
		return true, nil
	}
	x := &lockedBuffer{mem: b.Bytes()}
	r := s.d.registerNow(x.mem, int(s.cfg.Pinning.ChunkBytes))
	if err := r.err(s.d.opts.Ordinal); err != nil {
		return false, err
	}
	var ok bool
	if x.drop, ok = b.BeforeClose(func() { l.release(s, b) }); !ok {
		r := s.d.unregisterNow(x.mem, int(s.cfg.Pinning.ChunkBytes))
		return false, errors.Join(pinning.ErrClosed, r.err(s.d.opts.Ordinal))
	}
	if l.buffers == nil {
		l.buffers = map[*pinning.Buffer]*lockedBuffer{}
	}
	l.buffers[b] = x
	return true, nil
}

// release unlocks a buffer that is about to be closed.
func (l *lockedOnce) release(s *session, b *pinning.Buffer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.buffers[b]; x != nil {
		delete(l.buffers, b)
		l.unlock(s, x)
	}
}

// unlock is called with mu held, so that nobody closes a buffer while it is being unlocked.
func (l *lockedOnce) unlock(s *session, x *lockedBuffer) {
	r := s.d.unregisterNow(x.mem, int(s.cfg.Pinning.ChunkBytes))
	if err := r.err(s.d.opts.Ordinal); err != nil && l.err == nil {
		l.err = err
	}
}

// close unlocks everything.
func (l *lockedOnce) close(s *session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for b, x := range l.buffers {
		x.drop()
		delete(l.buffers, b)
		l.unlock(s, x)
	}
	return l.err
}
