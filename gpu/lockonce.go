package gpu

import (
	"context"
	"errors"

	"github.com/filgroth/filgroth/pinning"
)

// once is what PolicyRegisterOnce has page-locked: whole buffers of package pinning, until they are closed or the last
// session that used them is. It is one for the process, since memory is locked for all devices at once and cannot be locked
// twice: witnesses whose memory is used again meet the sessions of several devices.
var once = lockedOnce{turn: make(chan struct{}, 1), buffers: map[*pinning.Buffer]*lockedBuffer{}}

type lockedOnce struct {
	turn    chan struct{} // a mutex that can be waited for with a context: to lock gigabytes takes its time
	buffers map[*pinning.Buffer]*lockedBuffer
}

type lockedBuffer struct {
	mem   region
	by    *Device // whose library and number the lock was made with
	chunk int
	users map[*session]bool
	drop  func() // of the buffer's hook
}

func (l *lockedOnce) enter() { l.turn <- struct{}{} }
func (l *lockedOnce) leave() { <-l.turn }

// keep page-locks the buffer that mem is a part of, if it is not locked yet. kept is false where there is no such buffer.
func (l *lockedOnce) keep(ctx context.Context, s *session, mem []byte) (kept bool, err error) {
	b := pinning.Owner(mem)
	if b == nil {
		return false, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer l.leave()
	if x := l.buffers[b]; x != nil {
		x.users[s] = true
		return true, nil
	}
	x := &lockedBuffer{mem: regionOf(b.Bytes()), by: s.d, chunk: int(s.cfg.Pinning.ChunkBytes), users: map[*session]bool{s: true}}
	r := s.d.registerNow(ctx, x.mem, x.chunk)
	if err := r.err(s.d.opts.Ordinal); err != nil {
		return false, err
	}
	var ok bool
	if x.drop, ok = b.BeforeClose(func() { l.release(b) }); !ok {
		return false, errors.Join(pinning.ErrClosed, x.unlock())
	}
	l.buffers[b] = x
	return true, nil
}

// unlock is called in turn, so that nobody closes a buffer while it is being unlocked.
func (x *lockedBuffer) unlock() error {
	r := x.by.unregisterNow(x.mem, x.chunk)
	return r.err(x.by.opts.Ordinal)
}

// release unlocks a buffer that is about to be closed. A failure is told by the Close of those that used it.
func (l *lockedOnce) release(b *pinning.Buffer) {
	l.enter()
	defer l.leave()
	x := l.buffers[b]
	if x == nil {
		return
	}
	delete(l.buffers, b)
	if err := x.unlock(); err != nil {
		for s := range x.users {
			s.unlockErr = errors.Join(s.unlockErr, err)
		}
	}
}

// forget unlocks what only this session has used.
func (l *lockedOnce) forget(s *session) error {
	l.enter()
	defer l.leave()
	err := s.unlockErr
	for b, x := range l.buffers {
		delete(x.users, s)
		if len(x.users) == 0 {
			x.drop()
			delete(l.buffers, b)
			err = errors.Join(err, x.unlock())
		}
	}
	return err
}
