package groth16

import (
	"context"
	"errors"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
	"golang.org/x/sync/errgroup"
)

// together computes the sums of circuits that share each pass over the key.
func (s *composedSession) together(ctx context.Context, as []*synth.Assignment, out []Sums) (err error) {
	w := &work{s: s, as: as, out: out}
	defer func() { err = errors.Join(err, w.free()) }()
	if err := w.prepare(ctx); err != nil {
		return err
	}
	if s.cfg.B2.Place != PlaceParallel {
		if err := w.inG1(ctx); err != nil {
			return err
		}
		return w.b2(ctx)
	}
	g, gctx := errgroup.WithContext(ctx)
	// a panic on a goroutine of its own would end the process
	g.Go(func() error { return catch("an engine", "G2", func() error { return w.b2(gctx) }) })
	g.Go(func() error { return catch("an engine", "G1", func() error { return w.inG1(gctx) }) })
	return g.Wait()
}

// work is one call's intermediate state.
type work struct {
	s       *composedSession
	as      []*synth.Assignment
	out     []Sums
	l, a, b []msm.Scalars
	frees   []func() error
}

func (w *work) free() error {
	var errs []error
	for _, f := range w.frees {
		errs = append(errs, f())
	}
	w.frees = nil
	return errors.Join(errs...)
}

// prepare packs each assignment into the scalars of L, A and B.
func (w *work) prepare(ctx context.Context) error {
	ctx, sp := span.Start(ctx, "prep")
	defer sp.End()
	for _, a := range w.as {
		for _, x := range []struct {
			g  *gather
			to *[]msm.Scalars
		}{{w.s.l, &w.l}, {w.s.a, &w.a}, {w.s.b, &w.b}} {
			k, free, err := x.g.scalars(ctx, a, w.s.cfg.Threads)
			if err != nil {
				return err
			}
			w.frees = append(w.frees, free)
			*x.to = append(*x.to, k)
			sp.AddBytes(x.g.bytes())
		}
	}
	return nil
}

// inG1 computes H, L, A and B1.
func (w *work) inG1(ctx context.Context) error {
	if err := w.h(ctx); err != nil {
		return err
	}
	win := w.s.cfg.Windows
	if err := w.g1(ctx, "msm.l", SectionL, win.L, w.l, func(o *Sums) *bls12381.G1Jac { return &o.L }); err != nil {
		return err
	}
	if err := w.g1(ctx, "msm.a", SectionA, win.A, w.a, func(o *Sums) *bls12381.G1Jac { return &o.A }); err != nil {
		return err
	}
	return w.g1(ctx, "msm.b1", SectionB1, win.B1, w.b, func(o *Sums) *bls12381.G1Jac { return &o.B1 })
}

// h computes each quotient, then its sum, and lets go of it.
func (w *work) h(ctx context.Context) (err error) {
	var hs []msm.Scalars
	var bufs []*pinning.Buffer
	defer func() {
		for _, b := range bufs {
			err = errors.Join(err, b.Close())
		}
	}()
	for _, a := range w.as {
		b, h, err := w.s.quotient(ctx, a)
		if err != nil {
			return err
		}
		bufs = append(bufs, b)
		hs = append(hs, msm.Scalars{Dense: h[:len(h)-1]})
	}
	return w.g1(ctx, "msm.h", SectionH, w.s.cfg.Windows.H, hs, func(o *Sums) *bls12381.G1Jac { return &o.H })
}

// quotient evaluates the system and divides; h is in the buffer, b and c are given back.
func (s *composedSession) quotient(ctx context.Context, a *synth.Assignment) (_ *pinning.Buffer, h []fr.Element, err error) {
	m := int(s.domain.Size())
	var bufs [3]*pinning.Buffer
	var v [3][]fr.Element
	done := false // stays false when an engine panics, too
	defer func() {
		for i, b := range bufs {
			if b != nil && (i > 0 || !done) {
				err = errors.Join(err, b.Close())
			}
		}
	}()
	for i, purpose := range [...]string{"evaluations a, quotient", "evaluations b", "evaluations c"} {
		if bufs[i], err = pinning.AllocWith(32*m, purpose, pinning.Options{HugePages: true}); err != nil {
			return nil, nil, err
		}
		v[i] = pinning.Slice[fr.Element](bufs[i], m)
	}
	if err = s.evaluate(ctx, a, v); err != nil {
		return nil, nil, err
	}
	qctx, sp := bytesSpan(ctx, "ntt.quotient", 3*32*int64(m))
	defer sp.End()
	err = s.n.Quotient(qctx, s.domain, v[0], v[1], v[2])
	done = err == nil
	return bufs[0], v[0], err
}

// evaluate fills a, b, c, from the assignment where it brings them.
func (s *composedSession) evaluate(ctx context.Context, a *synth.Assignment, v [3][]fr.Element) error {
	if a.Eval == nil {
		return s.sys.Evaluate(ctx, a, v[0], v[1], v[2], s.cfg.Threads)
	}
	// the rest is zero: the buffers are new, and their first touch is in this time
	_, sp := bytesSpan(ctx, "prep", int64(3*32*len(a.Eval.A)))
	defer sp.End()
	copy(v[0], a.Eval.A)
	copy(v[1], a.Eval.B)
	copy(v[2], a.Eval.C)
	return ctx.Err()
}

// g1 sums one section in G1 for all circuits.
func (w *work) g1(ctx context.Context, name string, sec Section, window int, ks []msm.Scalars, to func(*Sums) *bls12381.G1Jac) error {
	s := w.s
	ctx, sp := bytesSpan(ctx, name, int64(s.key.Len(sec))*int64(nativeG1))
	defer sp.End()
	cfg := msm.Config{WindowBits: window, Threads: s.cfg.Threads}
	if s.native != nil {
		for i := range ks {
			r, err := s.m.G1(ctx, s.native.g1[sec], ks[i], cfg)
			if err != nil {
				return err
			}
			*to(&w.out[i]) = r
		}
		return nil
	}
	return streamed(ctx, s, sec, nativeG1, func(p []bls12381.G1Affine, lo int) error {
		if err := s.key.DecodeG1(ctx, sec, lo, p, s.cfg.Threads); err != nil {
			return err
		}
		for i := range ks {
			r, err := s.m.G1(ctx, p, sliceScalars(ks[i], lo, lo+len(p)), cfg)
			if err != nil {
				return err
			}
			to(&w.out[i]).AddAssign(&r)
		}
		return nil
	})
}

// b2 sums the section in G2 for all circuits.
func (w *work) b2(ctx context.Context) error {
	s := w.s
	ctx, sp := bytesSpan(ctx, "msm.b2", int64(s.key.Len(SectionB2))*int64(nativeG2))
	defer sp.End()
	threads := s.cfg.B2.Threads
	if threads == 0 {
		threads = s.cfg.Threads
	}
	cfg := msm.Config{WindowBits: s.cfg.Windows.B2, Threads: threads}
	if s.native != nil {
		for i := range w.b {
			r, err := s.m.G2(ctx, s.native.b2, w.b[i], cfg)
			if err != nil {
				return err
			}
			w.out[i].B2 = r
		}
		return nil
	}
	return streamed(ctx, s, SectionB2, nativeG2, func(p []bls12381.G2Affine, lo int) error {
		if err := s.key.DecodeG2(ctx, SectionB2, lo, p, threads); err != nil {
			return err
		}
		for i := range w.b {
			r, err := s.m.G2(ctx, p, sliceScalars(w.b[i], lo, lo+len(p)), cfg)
			if err != nil {
				return err
			}
			w.out[i].B2.AddAssign(&r)
		}
		return nil
	})
}

// streamed calls f for chunk after chunk of a section with a buffer to decode into.
func streamed[P any](ctx context.Context, s *composedSession, sec Section, size int, f func(p []P, lo int) error) (err error) {
	n := s.key.Len(sec)
	chunk := min(n, s.cfg.Key.ChunkPoints)
	buf, err := pinning.Alloc(size*chunk, "streamed key points")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, buf.Close()) }()
	p := pinning.Slice[P](buf, chunk)
	for lo := 0; lo < n && err == nil; lo += chunk {
		if err = ctx.Err(); err == nil {
			err = f(p[:min(chunk, n-lo)], lo)
		}
	}
	return err
}
