package gpu

import (
	"context"
	"errors"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// work is one call: its circuits share each staged range of the key. Methods run on the device's thread unless they say
// otherwise.
type work struct {
	*session
	ctx    context.Context
	cancel *int32
	as     []*synth.Assignment
	out    []groth16.Sums
	slots  []int // of each circuit

	sent   *sender
	stream *stream // nil with a resident key
	beside *b2Run  // nil where the device sums section b_g2
}

// stage runs a call of the library under a span, on any thread.
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
	if r := w.d.lib.sessionBegin(w.h); r.code != codeOK {
		return r.err(w.d.opts.Ordinal)
	}
	if !w.c.resident {
		w.stream = w.startStream()
		defer w.stream.stop()
	}
	w.beside = w.b2.start(w)
	for from := 0; from < len(w.as); from += w.c.quotients {
		if err := w.quotients(from, min(from+w.c.quotients, len(w.as))); err != nil {
			return err
		}
	}
	for sec := groth16.SectionL; sec < groth16.NumSections; sec++ {
		if err := w.section(sec, 0, len(w.as)); err != nil {
			return err
		}
	}
	for i := range w.as {
		if err := w.take(i); err != nil {
			return err
		}
	}
	return nil
}

// quotients makes those of circuits [from, to) and sums them in one pass.
func (w *work) quotients(from, to int) error {
	for i := from; i < to; i++ {
		if err := w.sent.wait(w.ctx, i); err != nil {
			return err
		}
		if err := w.quotient(i, i-from); err != nil {
			return err
		}
	}
	return w.section(groth16.SectionH, from, to)
}

// quotient makes a circuit's quotient in a place.
func (w *work) quotient(i, at int) (err error) {
	e, free, err := w.hostValues(w.as[i])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	if !w.c.lowMemory {
		if e == nil {
			err = w.evaluate(i, at, allAtOnce)
		} else {
			for k := 0; k < 3 && err == nil; k++ {
				err = w.evaluations(at, k, e)
			}
		}
		if err != nil {
			return err
		}
		return w.transform(at, allAtOnce)
	}
	for k := range 3 {
		if e == nil {
			err = w.evaluate(i, at, k)
		} else {
			err = w.evaluations(at, k, e)
		}
		if err != nil {
			return err
		}
		if err := w.transform(at, k); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) transform(at, step int) error {
	bytes := 3 * 32 << w.log
	if step != allAtOnce {
		bytes = 32 << w.log
	}
	return w.stage("ntt.quotient", int64(bytes), func(lib native) result { return lib.sessionQuotient(w.h, at, step, w.cancel) })
}

func (w *work) evaluate(i, at, matrix int) error {
	return w.stage("synth.eval", 0, func(lib native) result { return lib.sessionEvaluate(w.h, w.slots[i], at, matrix) })
}

// evaluations sends the values of a matrix.
func (w *work) evaluations(at, matrix int, e *synth.Evaluations) error {
	v := [3][]fr.Element{e.A, e.B, e.C}[matrix]
	return w.stage("prep", int64(fr.Bytes*len(v)), func(lib native) result { return lib.sessionEvaluations(w.h, at, matrix, v, w.cancel) })
}

// hostValues are a, b, c where the device does not evaluate them: brought by the assignment, or evaluated here.
func (w *work) hostValues(a *synth.Assignment) (e *synth.Evaluations, free func() error, err error) {
	switch {
	case a.Eval != nil:
		e = a.Eval
		free, err = w.pin(bytesOf(e.A), bytesOf(e.B), bytesOf(e.C))
		return e, free, err
	case w.c.hasSystem:
		return nil, func() error { return nil }, nil
	}
	_, sp := span.Start(w.ctx, "synth.eval")
	defer sp.End()
	n := w.sys.Constraints()
	buf, err := pinning.Alloc(3*32*n, "evaluations")
	if err != nil {
		return nil, nil, err
	}
	v := pinning.Slice[fr.Element](buf, 3*n)
	e = &synth.Evaluations{A: v[:n:n], B: v[n : 2*n : 2*n], C: v[2*n:]}
	if err := w.sys.Evaluate(w.ctx, a, e.A, e.B, e.C, w.cfg.Threads); err != nil {
		return nil, nil, errors.Join(err, buf.Close())
	}
	return e, buf.Close, nil
}

var sectionSpans = [groth16.NumSections]string{"msm.h", "msm.l", "msm.a", "msm.b1", "msm.b2"}

// section adds a section's sums for circuits [from, to). A streamed key is staged range by range, each range once for
// all circuits. In section h the circuits' quotients are at the places from 0 on.
func (w *work) section(sec groth16.Section, from, to int) error {
	n := w.c.counts[sec]
	step := max(n, 1)
	if !w.c.resident {
		step = w.c.chunks[sec]
	}
	for at := 0; at < n; at += step {
		if !w.c.resident {
			if err := w.nextRange(); err != nil {
				return err
			}
		}
		for i := from; i < to; i++ {
			err := w.stage(sectionSpans[sec], 0, func(lib native) result {
				return lib.sessionSum(w.h, int(sec), w.slots[i], i-from, w.cancel)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *work) take(i int) error {
	var g1 [4]bls12381.G1Jac
	o := &w.out[i]
	b2 := &o.B2
	if w.b2 != nil {
		b2 = new(bls12381.G2Jac) // the host's sum goes there
	}
	if r := w.d.lib.sessionTake(w.h, w.slots[i], &g1, b2); r.code != codeOK {
		return r.err(w.d.opts.Ordinal)
	}
	o.H, o.L, o.A, o.B1 = g1[groth16.SectionH], g1[groth16.SectionL], g1[groth16.SectionA], g1[groth16.SectionB1]
	return nil
}
