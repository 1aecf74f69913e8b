package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
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

	mu     sync.RWMutex // held for reading by calls
	closed bool
}

var _ groth16.Session = (*session)(nil)

// call is one call of the library on the device's thread.
func (s *session) call(ctx context.Context, f func(cancel *int32) result) error {
	return s.d.do(ctx, f)
}

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
	err = r.err(s.d.opts.Ordinal)
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
	f := pinning.Footprint{Device: int64(s.bytes.arena + s.bytes.circuit*uint64(together))}
	if !s.c.hasSystem {
		f.Host = 3 * 32 * int64(s.sys.Constraints())
	}
	return f
}

// CircuitsPerCall is what this session would like to be given at once: as many as share a pass over a streamed key.
func (s *session) CircuitsPerCall() int { return s.c.circuits }

// Sums implements groth16.Session. Calls have the device to themselves, one after the other.
func (s *session) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, fmt.Errorf("%w: session", groth16.ErrClosed)
	}
	for i, a := range as {
		if err := s.checkAssignment(a); err != nil {
			return nil, fmt.Errorf("circuit %d: %w", i, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]groth16.Sums, len(as))
	for i := 0; i < len(as); i += s.c.circuits {
		j := min(i+s.c.circuits, len(as))
		err := s.d.submit(ctx, func(cancel *int32) error {
			w := &work{session: s, ctx: ctx, cancel: cancel, as: as[i:j], out: out[i:j]}
			return w.run()
		})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
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
	return s.release()
}

// release gives back what Bind took.
func (s *session) release() error {
	var err error
	if s.h != nil {
		err = s.d.do(context.Background(), func(*int32) result {
			s.d.lib.sessionClose(s.h)
			return result{}
		})
	}
	s.d.sessions.Add(-1)
	return errors.Join(err, s.key.Release())
}

// work is one pass: its circuits share each staged range of the key. Its methods run on the device's thread.
type work struct {
	*session
	ctx    context.Context
	cancel *int32
	as     []*synth.Assignment
	out    []groth16.Sums
}

// stage runs a call of the library under a span.
func (w *work) stage(name string, bytes int64, f func(lib native) result) error {
	_, sp := span.Start(w.ctx, name)
	sp.SetLane(w.d.String())
	sp.AddBytes(bytes)
	defer sp.End()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	r := f(w.d.lib)
	return r.err(w.d.opts.Ordinal)
}

func (w *work) run() error {
	if r := w.d.lib.sessionBegin(w.h, len(w.as)); r.code != codeOK {
		return r.err(w.d.opts.Ordinal)
	}
	for slot, a := range w.as {
		if err := w.circuit(slot, a); err != nil {
			return err
		}
	}
	for sec := groth16.SectionL; sec < groth16.NumSections; sec++ {
		if err := w.section(sec, 0, len(w.as)); err != nil {
			return err
		}
	}
	for slot := range w.as {
		if err := w.take(slot); err != nil {
			return err
		}
	}
	return nil
}

// circuit sends a witness, makes the quotient and sums it.
func (w *work) circuit(slot int, a *synth.Assignment) (err error) {
	unpin, err := w.pin(a)
	if err != nil {
		return err
	}
	if err = w.send(slot, a); err == nil {
		err = w.evaluate(slot, a)
	}
	if err = errors.Join(err, unpin()); err != nil {
		return err
	}
	m := int64(1) << w.log
	err = w.stage("ntt.quotient", 3*32*m, func(lib native) result { return lib.sessionQuotient(w.h, w.cancel) })
	if err != nil {
		return err
	}
	return w.section(groth16.SectionH, slot, slot+1)
}

// pin page-locks a circuit's memory where the policy says so; unpin undoes it.
func (w *work) pin(a *synth.Assignment) (unpin func() error, err error) {
	var locked [][]byte
	unpin = func() error {
		var first error
		for _, mem := range locked {
			r := w.d.unregisterNow(mem, int(w.cfg.Pinning.ChunkBytes))
			if err := r.err(w.d.opts.Ordinal); err != nil && first == nil {
				first = err
			}
		}
		return first
	}
	if w.cfg.Pinning.Policy != pinning.PolicyRegister {
		return unpin, nil
	}
	_, sp := span.Start(w.ctx, "pin")
	defer sp.End()
	parts := [][]byte{bytesOf(a.Bits), bytesOf(a.Fields)}
	if e := a.Eval; e != nil {
		parts = append(parts, bytesOf(e.A), bytesOf(e.B), bytesOf(e.C))
	}
	for _, mem := range parts {
		if len(mem) == 0 {
			continue
		}
		r := w.d.registerNow(mem, int(w.cfg.Pinning.ChunkBytes))
		if err := r.err(w.d.opts.Ordinal); err != nil {
			return nil, errors.Join(err, unpin())
		}
		locked = append(locked, mem)
		sp.AddBytes(int64(len(mem)))
	}
	return unpin, nil
}

// bytesOf is the memory of a slice.
func bytesOf[T any](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
}

// send sends a witness.
func (w *work) send(slot int, a *synth.Assignment) error {
	bytes := int64(len(a.Bits))*8 + int64(len(a.Inputs)+len(a.Fields))*fr.Bytes
	return w.stage("prep", bytes, func(lib native) result { return lib.sessionWitness(w.h, slot, a) })
}

// evaluate leaves a, b, c on the device: computed there, or on the host, or brought by the assignment.
func (w *work) evaluate(slot int, a *synth.Assignment) error {
	if a.Eval == nil && w.c.hasSystem {
		return w.stage("synth.eval", 0, func(lib native) result { return lib.sessionEvaluate(w.h, slot) })
	}
	e := a.Eval
	if e == nil {
		var err error
		var free func() error
		if e, free, err = w.evaluateOnHost(a); err != nil {
			return err
		}
		err = w.stage("synth.eval", 3*32*int64(len(e.A)), func(lib native) result { return lib.sessionEvaluations(w.h, e) })
		return errors.Join(err, free())
	}
	return w.stage("prep", 3*32*int64(len(e.A)), func(lib native) result { return lib.sessionEvaluations(w.h, e) })
}

func (w *work) evaluateOnHost(a *synth.Assignment) (_ *synth.Evaluations, free func() error, err error) {
	_, sp := span.Start(w.ctx, "synth.eval")
	defer sp.End()
	n := w.sys.Constraints()
	buf, err := pinning.Alloc(3*32*n, "evaluations")
	if err != nil {
		return nil, nil, err
	}
	v := pinning.Slice[fr.Element](buf, 3*n)
	e := &synth.Evaluations{A: v[:n:n], B: v[n : 2*n : 2*n], C: v[2*n:]}
	if err := w.sys.Evaluate(w.ctx, a, e.A, e.B, e.C, w.cfg.Threads); err != nil {
		return nil, nil, errors.Join(err, buf.Close())
	}
	return e, buf.Close, nil
}

var sectionSpans = [groth16.NumSections]string{"msm.h", "msm.l", "msm.a", "msm.b1", "msm.b2"}

// section adds a section's sums for circuits [from, to). A streamed key is staged range by range, each range once for
// all circuits.
func (w *work) section(sec groth16.Section, from, to int) error {
	n := w.key.Len(sec)
	step := max(n, 1)
	if !w.c.resident {
		step = w.c.chunk
	}
	for at := 0; at < n; at += step {
		if !w.c.resident {
			if err := w.loadStage(sec, at, min(step, n-at)); err != nil {
				return err
			}
		}
		for slot := from; slot < to; slot++ {
			err := w.stage(sectionSpans[sec], 0, func(lib native) result { return lib.sessionSum(w.h, int(sec), slot, w.cancel) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) loadStage(sec groth16.Section, at, n int) error {
	_, sp := span.Start(w.ctx, "key.load")
	sp.SetLane(w.d.String())
	sp.AddBytes(int64(n) * int64(sec.PointSize()))
	defer sp.End()
	return w.loadNow(sec, at, n, w.cancel)
}

func (w *work) take(slot int) error {
	var g1 [4]bls12381.G1Jac
	o := &w.out[slot]
	if r := w.d.lib.sessionTake(w.h, slot, &g1, &o.B2); r.code != codeOK {
		return r.err(w.d.opts.Ordinal)
	}
	o.H, o.L, o.A, o.B1 = g1[groth16.SectionH], g1[groth16.SectionL], g1[groth16.SectionA], g1[groth16.SectionB1]
	return nil
}
