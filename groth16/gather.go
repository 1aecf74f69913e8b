package groth16

import (
	"context"
	"errors"
	"math/bits"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// gather turns an assignment into the scalars of one section. The points of a section belong to some inputs (front), then
// to the aux variables of a density; what depends on the system alone is worked out once, in newGather.
type gather struct {
	front   []uint32 // the inputs that have a point
	density []uint64 // the aux variables that have one; nil: all
	n       int      // points
	blockAt []int    // the point of the first variable of each block of gatherBlock words
	field   []uint32 // tail scalar len(front)+j is Fields[field[j]]
	asIs    bool     // the tail is Fields as they are
	at      []uint32 // the points of the tail: front first
	buf     *pinning.Buffer
}

// gatherBlock is how many words of bits a worker packs at a time.
const gatherBlock = 1 << 10

// newGather: inputs nil means none, density nil means all aux.
func newGather(sys *synth.System, inputs []uint32, density []uint64) (*gather, error) {
	g := &gather{front: inputs, density: density, n: len(inputs)}
	isBit := sys.Bits()
	tails := 0
	for w := range isBit {
		d := g.word(w, sys.Aux())
		tails += bits.OnesCount64(d &^ isBit[w])
	}
	g.asIs = len(inputs) == 0 && tails == sys.Fields()
	index := len(inputs) + tails
	if !g.asIs {
		index += tails
	}
	var err error
	if g.buf, err = pinning.Alloc(4*index, "witness index"); err != nil {
		return nil, err
	}
	all := pinning.Slice[uint32](g.buf, index)
	g.at, g.field = all[:0:len(inputs)+tails], all[len(inputs)+tails:][:0]
	for i := range inputs {
		g.at = append(g.at, uint32(i))
	}
	fields := uint32(0)
	for w := range isBit {
		if w%gatherBlock == 0 {
			g.blockAt = append(g.blockAt, g.n)
		}
		d := g.word(w, sys.Aux())
		for nb := ^isBit[w] & valid(w, sys.Aux()); nb != 0; nb &= nb - 1 {
			low := nb & -nb
			if d&low != 0 {
				g.at = append(g.at, uint32(g.n+bits.OnesCount64(d&(low-1))))
				if !g.asIs {
					g.field = append(g.field, fields)
				}
			}
			fields++
		}
		g.n += bits.OnesCount64(d)
	}
	return g, nil
}

func (g *gather) close() error { return g.buf.Close() }

// valid masks the bits of word w that belong to n variables.
func valid(w, n int) uint64 {
	if left := n - w*64; left < 64 {
		return 1<<left - 1
	}
	return ^uint64(0)
}

func (g *gather) word(w, aux int) uint64 {
	if g.density == nil {
		return valid(w, aux)
	}
	return g.density[w]
}

// bytes is the memory that scalars takes.
func (g *gather) bytes() int64 {
	n := int64(0)
	if !g.asIs {
		n += 32 * int64(len(g.at))
	}
	if g.density != nil || len(g.front) > 0 {
		n += int64(g.n+63) / 64 * 8
	}
	return n
}

// scalars packs the assignment for the section's points. What the section takes as it is in the assignment is not
// copied. free gives the rest back.
func (g *gather) scalars(ctx context.Context, a *synth.Assignment, threads int) (k msm.Scalars, free func() error, err error) {
	var bufs []*pinning.Buffer
	release := func() error {
		var errs []error
		for _, b := range bufs {
			errs = append(errs, b.Close())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, release())
		}
	}()
	k.Tail, k.Bits, k.TailAt = a.Fields, a.Bits, g.at
	if !g.asIs {
		b, err := pinning.Alloc(32*len(g.at), "msm scalars")
		if err != nil {
			return k, nil, err
		}
		bufs = append(bufs, b)
		k.Tail = pinning.Slice[fr.Element](b, len(g.at))
		if err := g.fillTail(ctx, k.Tail, a, threads); err != nil {
			return k, nil, err
		}
	}
	if len(k.Tail) == g.n { // no bits at all
		return msm.Scalars{Dense: k.Tail}, release, nil
	}
	if g.density != nil || len(g.front) > 0 {
		words := (g.n + 63) / 64
		b, err := pinning.Alloc(8*words, "msm scalars")
		if err != nil {
			return k, nil, err
		}
		bufs = append(bufs, b)
		k.Bits = pinning.Slice[uint64](b, words)
		if err := g.fillBits(ctx, k.Bits, a.Bits, threads); err != nil {
			return k, nil, err
		}
	}
	return k, release, nil
}

func (g *gather) fillTail(ctx context.Context, dst []fr.Element, a *synth.Assignment, threads int) error {
	for i, in := range g.front {
		dst[i] = a.Inputs[in]
	}
	rest := dst[len(g.front):]
	return par.Range(ctx, threads, len(rest), 1<<15, func(_, lo, hi int) error {
		for j := lo; j < hi; j++ {
			rest[j] = a.Fields[g.field[j]]
		}
		return nil
	})
}

// fillBits packs src through the density into dst, which is zero, from bit len(front) on.
func (g *gather) fillBits(ctx context.Context, dst, src []uint64, threads int) error {
	return par.Do(ctx, threads, len(g.blockAt), func(_, block int) error {
		p := packer{dst: dst, at: g.blockAt[block]}
		for w := block * gatherBlock; w < min(len(src), (block+1)*gatherBlock); w++ {
			if g.density == nil {
				p.put(src[w], 64)
				continue
			}
			d := g.density[w]
			p.put(extract(src[w], d), bits.OnesCount64(d))
		}
		p.flush()
		return nil
	})
}

// extract packs the bits of x under mask m together, lowest first.
func extract(x, m uint64) uint64 {
	if m == ^uint64(0) {
		return x
	}
	x &= m
	if x == 0 {
		return 0
	}
	// Whole runs of ones in the mask move at once: densities are long runs.
	res, at := uint64(0), 0
	for m != 0 {
		skip := bits.TrailingZeros64(m)
		m >>= skip
		x >>= skip
		run := bits.TrailingZeros64(^m)
		res |= (x & (1<<run - 1)) << at
		at += run
		if run == 64 {
			break
		}
		m >>= run
		x >>= run
	}
	return res
}

// packer appends bits at a position. The words at the borders of a block are shared with other workers.
type packer struct {
	dst []uint64
	at  int
	acc uint64
	mid bool // the current word is ours alone
}

func (p *packer) put(v uint64, n int) {
	sh := p.at & 63
	p.acc |= v << sh
	if sh+n < 64 {
		p.at += n
		return
	}
	p.store()
	p.mid = true
	p.acc = v >> (63 - sh) >> 1
	p.at += n
}

func (p *packer) store() {
	w := p.at >> 6
	switch {
	case p.mid:
		p.dst[w] = p.acc
	case p.acc != 0:
		atomic.OrUint64(&p.dst[w], p.acc)
	}
}

func (p *packer) flush() {
	if p.acc != 0 {
		atomic.OrUint64(&p.dst[p.at>>6], p.acc)
	}
}

// sliceScalars are the scalars of points [lo, hi), where lo is a multiple of 64 and hi too unless it is the end.
func sliceScalars(k msm.Scalars, lo, hi int) msm.Scalars {
	if k.Dense != nil {
		return msm.Scalars{Dense: k.Dense[lo:hi]}
	}
	s := msm.Scalars{Bits: k.Bits[lo/64 : (hi+63)/64]}
	i, j := lowerBound(k.TailAt, lo), lowerBound(k.TailAt, hi)
	s.Tail = k.Tail[i:j]
	s.TailAt = make([]uint32, j-i)
	for t := range s.TailAt {
		s.TailAt[t] = k.TailAt[i+t] - uint32(lo)
	}
	return s
}

func lowerBound(v []uint32, x int) int {
	lo, hi := 0, len(v)
	for lo < hi {
		m := (lo + hi) / 2
		if int(v[m]) < x {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}
