package gpu

import (
	"context"
	"errors"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

// hostB2Chunk is how many points of section b_g2 are decoded and summed at a time.
const hostB2Chunk = 1 << 20

// hostB2 sums section b_g2 on the host, where Config says so (knob A4): beside the device's sums or after them.
type hostB2 struct {
	s        *session
	lists    *sectionLists // of b_g1, which b_g2 shares
	engine   *msm.CPU
	points   *pinning.Buffer // all of the section, or nil where they are decoded chunk by chunk
	parallel bool
}

// hostB2 says whether the host sums section b_g2.
func (s *session) hostB2() bool {
	return s.cfg.B2.Place == groth16.PlaceSequential || s.cfg.B2.Place == groth16.PlaceParallel
}

// newHostB2 takes over the lists, and decodes the section where the device keeps its part of the key too.
func (s *session) newHostB2(ctx context.Context, lists *sectionLists) (*hostB2, error) {
	b := &hostB2{s: s, lists: lists, parallel: s.cfg.B2.Place == groth16.PlaceParallel}
	var err error
	if b.engine, err = msm.NewCPU(msm.Config{Threads: s.threadsB2(), WindowBits: s.cfg.Windows.B2}); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if !s.c.resident {
		return b, nil
	}
	n := s.key.Len(groth16.SectionB2)
	if b.points, err = pinning.Alloc(n*bls12381.SizeOfG2AffineUncompressed, "points of b_g2"); err != nil {
		return nil, errors.Join(err, b.close())
	}
	if err = s.key.DecodeG2(ctx, groth16.SectionB2, 0, pinning.Slice[bls12381.G2Affine](b.points, n), s.threadsB2()); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (s *session) threadsB2() int {
	if s.cfg.B2.Threads != 0 {
		return s.cfg.B2.Threads
	}
	return s.cfg.Threads
}

func (b *hostB2) close() error {
	if b == nil {
		return nil
	}
	var err error
	if b.points != nil {
		err = b.points.Close()
	}
	return errors.Join(err, b.lists.close())
}

// heldBytes is the host memory that stays as long as the session.
func (b *hostB2) heldBytes() int64 {
	if b == nil {
		return 0
	}
	n := b.lists.bytes()
	if b.points != nil {
		n += int64(b.points.Len())
	}
	return n
}

// chunkBytes is the host memory of the points that a call decodes at a time.
func (b *hostB2) chunkBytes() int64 {
	if b == nil || b.points != nil {
		return 0
	}
	return bls12381.SizeOfG2AffineUncompressed * int64(min(hostB2Chunk, b.s.key.Len(groth16.SectionB2)))
}

// b2Run is the sum of a call's circuits.
type b2Run struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
	later  func() error // sequential: what is left to do
}

// start begins with the sums of a call, or notes them for later. A nil b has nothing to do.
func (b *hostB2) start(w *work) *b2Run {
	if b == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(w.ctx)
	r := &b2Run{cancel: cancel, done: make(chan struct{})}
	f := func() error { return protect(func() error { return b.sums(ctx, w.as, w.out) }) }
	if !b.parallel {
		r.later = f
		return r
	}
	go func() {
		defer close(r.done)
		r.err = f()
	}()
	return r
}

// join waits for the sums, or stops them if the call has failed. Not on the device's thread.
func (r *b2Run) join(failed error) error {
	if r == nil {
		return nil
	}
	defer r.cancel()
	if failed != nil {
		r.cancel()
	}
	if r.later != nil {
		if failed != nil {
			return nil
		}
		return r.later()
	}
	<-r.done
	if failed != nil {
		return nil
	}
	return r.err
}

// sums goes through the section once, for all circuits.
func (b *hostB2) sums(ctx context.Context, as []*synth.Assignment, out []groth16.Sums) (err error) {
	ctx, sp := span.Start(ctx, "msm.b2")
	defer sp.End()
	n := b.s.key.Len(groth16.SectionB2)
	var chunk []bls12381.G2Affine
	if b.points == nil {
		buf, err := pinning.Alloc(min(n, hostB2Chunk)*bls12381.SizeOfG2AffineUncompressed, "points of b_g2")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, buf.Close()) }()
		chunk = pinning.Slice[bls12381.G2Affine](buf, min(n, hostB2Chunk))
	}
	total := make([]bls12381.G2Jac, len(as))
	bit, value := 0, 0 // of the lists
	for at := 0; at < n; at += hostB2Chunk {
		k := min(hostB2Chunk, n-at)
		var p []bls12381.G2Affine
		if b.points != nil {
			p = pinning.Slice[bls12381.G2Affine](b.points, n)[at : at+k]
		} else {
			p = chunk[:k]
			if err := b.s.key.DecodeG2(ctx, groth16.SectionB2, at, p, b.s.threadsB2()); err != nil {
				return err
			}
		}
		nextBit, nextValue := bit, value
		for i, a := range as {
			var sc msm.Scalars
			sc, nextBit, nextValue = b.scalars(a, at, k, bit, value)
			sum, err := b.engine.G2(ctx, p, sc, msm.Config{})
			if err != nil {
				return err
			}
			total[i].AddAssign(&sum)
		}
		bit, value = nextBit, nextValue
	}
	for i := range out {
		out[i].B2 = total[i]
	}
	return nil
}

// scalars are those of points [at, at+n), of which the bits begin at bit in their list, the values at value.
func (b *hostB2) scalars(a *synth.Assignment, at, n, bit, value int) (k msm.Scalars, nextBit, nextValue int) {
	l := b.lists
	k.Bits = make([]uint64, (n+63)/64)
	inputs := len(a.Inputs)
	for i := range n {
		if p := at + i; l.mask[p>>6]>>(p&63)&1 == 1 {
			v := int(l.valueAt[value])
			value++
			var e *fr.Element
			if v < inputs {
				e = &a.Inputs[v]
			} else {
				e = &a.Fields[v-inputs]
			}
			k.Tail = append(k.Tail, *e)
			k.TailAt = append(k.TailAt, uint32(i))
			continue
		}
		v := l.bitAt[bit]
		bit++
		k.Bits[i>>6] |= a.Bits[v>>6] >> (v & 63) & 1 << (i & 63)
	}
	return k, bit, value
}
