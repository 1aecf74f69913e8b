package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// session implements groth16.Session on a Device.
type session struct {
	d     *Device
	sys   *synth.System
	key   *groth16.ProvingKey
	cfg   groth16.Config
	log   int
	c     sessionConfig
	bytes sessionBytes
	h     handle

	slots     *slots
	sending   sync.Mutex // one witness goes up at a time
	b2        *hostB2    // nil where the device sums section b_g2
	unlockErr error      // of memory that was locked once; once has it

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // of Sums; none is added once closed
}

var _ groth16.Session = (*session)(nil)

// checkCurve makes the device look at the curve equation of every point that it converts.
const checkCurve = 1

// load converts points of a section on the device.
func (s *session) load(ctx context.Context, sec groth16.Section, at, n int) error {
	return s.d.submit(ctx, func(cancel *int32) error { return s.loadNow(sec, at, n, cancel) })
}

// loadNow is load for the device's thread.
func (s *session) loadNow(sec groth16.Section, at, n int, cancel *int32) error {
	raw, err := s.key.Raw(sec, at, n)
	if err != nil {
		return err
	}
	r := s.d.lib.sessionLoad(s.h, int(sec), at, n, raw, checkCurve, cancel)
	return s.keyError(sec, r.err(s.d.opts.Ordinal))
}

// keyError names the section and the index of a bad point.
func (s *session) keyError(sec groth16.Section, err error) error {
	var pe *PointError
	if errors.As(err, &pe) {
		return &groth16.KeyError{Path: s.key.Path(), Section: sec.String(), Index: int(pe.Index), Err: errors.New(pe.Reason)}
	}
	return err
}

// Footprint implements groth16.Session. The device bytes are those of scratch memory, which all sessions of a device
// share, and of the circuits' witnesses.
func (s *session) Footprint(circuits int) pinning.Footprint {
	if circuits <= 0 {
		return pinning.Footprint{}
	}
	together := min(circuits, s.c.circuits)
	f := pinning.Footprint{Device: int64(s.bytes.arena + s.bytes.circuit*uint64(together)), Host: s.b2.chunkBytes()}
	if !s.c.hasSystem {
		n := fr.Bytes * int64(s.sys.Constraints())
		f.Host += 3 * n
		if s.c.witnessMemory == throughPool { // it grows to a matrix
			f.Pinned = max(0, n-s.Held().Pinned)
		}
	}
	return f
}

// Held is the host memory that the session keeps between calls, beside its ring (at most 128 MiB unless Config says
// otherwise).
func (s *session) Held() pinning.Footprint {
	f := pinning.Footprint{Host: s.b2.heldBytes()}
	if s.c.witnessMemory == throughPool {
		f.Pinned = max(8*int64((s.sys.Aux()+63)/64), fr.Bytes*int64(s.sys.Fields()))
	}
	return f
}

// CircuitsPerCall is what this session would like to be given at once: as many as share a pass over a streamed key.
func (s *session) CircuitsPerCall() int { return s.c.circuits }

// Sums implements groth16.Session. Circuits that do not fit one call are taken in several, one after the other; while
// one has the device, the witnesses of the next are sent if there are slots for them. The same goes for calls of Sums.
func (s *session) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	for i, a := range as {
		if err := s.checkAssignment(a); err != nil {
			return nil, fmt.Errorf("circuit %d: %w", i, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]groth16.Sums, len(as))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i := 0; i < len(as); i += s.c.circuits {
		j := min(i+s.c.circuits, len(as))
		g.Go(func() error { return s.together(gctx, as[i:j], out[i:j]) })
	}
	err := g.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// enter notes a call, which Close waits for.
func (s *session) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: session", groth16.ErrClosed)
	}
	s.calls.Add(1)
	return nil
}

// together sums circuits of one call.
func (s *session) together(ctx context.Context, as []*synth.Assignment, out []groth16.Sums) (err error) {
	slots, err := s.slots.take(ctx, len(as))
	if err != nil {
		return err
	}
	defer s.slots.give(slots)
	ctx, cancel := context.WithCancel(ctx)
	w := &work{session: s, ctx: ctx, as: as, out: out, slots: slots}
	w.sent = w.startSending()
	defer w.sent.join()
	defer cancel()
	// The device is asked for when there is something to do on it.
	if err := w.sent.wait(ctx, 0); err != nil {
		return err
	}
	err = s.d.submit(ctx, func(flag *int32) error {
		w.cancel = flag
		return w.run()
	})
	// What the host has left to do is done while others have the device.
	return errors.Join(err, w.beside.join(err))
}

func (s *session) checkAssignment(a *synth.Assignment) error {
	sys := s.sys
	switch {
	case a == nil:
		return fmt.Errorf("%w: no assignment", synth.ErrShape)
	case a.System() != sys:
		return fmt.Errorf("%w: the assignment is of another system", synth.ErrShape)
	case len(a.Inputs) != sys.Inputs() || len(a.Bits) != (sys.Aux()+63)/64 || len(a.Fields) != sys.Fields():
		return fmt.Errorf("%w: the assignment is closed or has other lengths", synth.ErrShape)
	case !a.Inputs[0].IsOne():
		return fmt.Errorf("%w: the first input is not one", synth.ErrShape)
	}
	if e := a.Eval; e != nil {
		if n := sys.Constraints(); len(e.A) != n || len(e.B) != n || len(e.C) != n {
			return fmt.Errorf("%w: evaluations of %d, %d, %d rows, expected %d", synth.ErrShape, len(e.A), len(e.B), len(e.C), n)
		}
	}
	return nil
}

// Close implements groth16.Session.
func (s *session) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return fmt.Errorf("%w: session", groth16.ErrClosed)
	}
	s.calls.Wait()
	return s.release()
}

// release gives back what Bind took.
func (s *session) release() error {
	err := errors.Join(once.forget(s), s.b2.close())
	if s.h != nil {
		err = errors.Join(err, s.d.do(context.Background(), func(*int32) result {
			s.d.lib.sessionClose(s.h)
			return result{}
		}))
	}
	s.d.leave(s)
	return errors.Join(err, s.key.Release())
}
