package msm

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
)

// FixedG1 and FixedG2 multiply one point by many scalars, for the making of keys: a table
// of its multiples turns each product into a dozen or two of additions, in the same
// batches as the sums. They are safe for concurrent use, and must be closed.
type (
	FixedG1 struct {
		fixed[bls12381.G1Affine, bls12381.G1Jac]
	}
	FixedG2 struct {
		fixed[bls12381.G2Affine, bls12381.G2Jac]
	}
)

// NewFixedG1 makes a table for some n products with base, a point of the subgroup; n
// decides only how large it is, some 50 MB at most. Of cfg it uses Threads and Kernel.
func (e *CPU) NewFixedG1(ctx context.Context, base bls12381.G1Affine, n int, cfg Config) (*FixedG1, error) {
	cfg, err := e.merge(cfg)
	if err != nil {
		return nil, err
	}
	f := &FixedG1{fixed[bls12381.G1Affine, bls12381.G1Jac]{curve: choose(g1Curves, cfg.Kernel), threads: cfg.Threads}}
	affine := func(j *bls12381.G1Jac) (p bls12381.G1Affine) { return *p.FromJacobian(j) }
	if err := f.build(ctx, base, n, affine); err != nil {
		return nil, err
	}
	return f, nil
}

// NewFixedG2 is NewFixedG1 for G2, with twice the memory.
func (e *CPU) NewFixedG2(ctx context.Context, base bls12381.G2Affine, n int, cfg Config) (*FixedG2, error) {
	cfg, err := e.merge(cfg)
	if err != nil {
		return nil, err
	}
	f := &FixedG2{fixed[bls12381.G2Affine, bls12381.G2Jac]{curve: choose(g2Curves, cfg.Kernel), threads: cfg.Threads}}
	affine := func(j *bls12381.G2Jac) (p bls12381.G2Affine) { return *p.FromJacobian(j) }
	if err := f.build(ctx, base, n, affine); err != nil {
		return nil, err
	}
	return f, nil
}

// fixed holds d·2^(c·w)·P, for every window w and d from 1 to 2^(c-1), at w·2^(c-1) + d-1.
type fixed[P, J any] struct {
	curve   *curve[P, J]
	threads int
	sorter  sorter // for its digits only
	table   []P
	space   scratch
}

// fixedChunk is how many products a worker takes at once.
const fixedChunk = 1 << 10

func (f *fixed[P, J]) build(ctx context.Context, base P, n int, affine func(*J) P) (err error) {
	c, best := 0, 0
	for b := MinWindowBits; b <= 16; b++ {
		if cost := windowCount(b) * (n + 1<<(b-1)); c == 0 || cost < best {
			c, best = b, cost
		}
	}
	f.sorter = sorter{bits: c, count: windowCount(c)}
	half := 1 << (c - 1)
	if f.table, err = take[P](&f.space, f.sorter.count*half); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	power := f.curve.infinity()
	f.curve.addMixed(&power, &base)
	for w := range f.sorter.count {
		f.table[w*half] = affine(&power)
		for range c {
			f.curve.double(&power)
		}
	}
	return par.Do(ctx, f.threads, f.sorter.count, func(_, w int) error {
		return f.window(ctx, f.table[w*half:(w+1)*half])
	})
}

// window fills t from its first point: having the first k multiples, the next k are
// the k-th plus each.
func (f *fixed[P, J]) window(ctx context.Context, t []P) error {
	add := f.curve.newAdder()
	var a, b []entry
	var out []uint32
	known := make([]P, 0, len(t)/2)
	clean := !f.curve.infinite(&t[0])
	for k := 1; k < len(t); k *= 2 {
		a, b, out = a[:0], b[:0], out[:0]
		for i := range k {
			a, b, out = append(a, entry(k-1)<<1), append(b, entry(i)<<1), append(out, uint32(k+i))
		}
		known = append(known[:0], t[:k]...)
		clean = add.add(t, known, a, b, out, clean) && clean
		for i := k; i < 2*k; i++ {
			add.canonical(&t[i])
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Close gives the table's memory back.
func (f *fixed[P, J]) Close() error { return f.space.close() }

// Mul writes k[i] times the base to dst[i].
func (f *fixed[P, J]) Mul(ctx context.Context, dst []P, k []fr.Element) error {
	if len(dst) != len(k) {
		return fmt.Errorf("%w: %d scalars for %d results", ErrScalars, len(k), len(dst))
	}
	j := &job[P, J]{ctx: ctx, curve: f.curve, trees: make([]*tree[P, J], par.Workers(f.threads, 1<<30))}
	defer j.release()
	bias, infinity := f.sorter.constant(), *new(P)
	digits := make([]digitField, f.sorter.count)
	for w := range digits {
		digits[w] = f.sorter.digits(w)
	}
	half := 1 << (f.sorter.bits - 1)
	return par.Range(ctx, f.threads, len(k), fixedChunk, func(worker, from, to int) error {
		t := j.tree(worker)
		t.spare, t.spareSegs = t.spare[:0], t.spareSegs[:0]
		for i := from; i < to; i++ {
			x := scalar(k[i].Bits())
			flip := uint32(0)
			if x.negate() {
				flip = 1
			}
			x.add(&bias)
			start := len(t.spare)
			for w := range digits {
				if m, negative := digits[w].digit(&x); m != 0 {
					t.spare = append(t.spare, entry(w*half+int(m)-1)<<1|negative^flip)
				}
			}
			dst[i] = infinity
			if n := len(t.spare) - start; n > 0 {
				t.spareSegs = append(t.spareSegs, segment{start, n, i})
			}
		}
		t.sums(f.table, t.spare, t.spareSegs, func(i int, p *P) { dst[i] = *p })
		return nil
	})
}

// add adds y, with a sum below 2^256.
func (s *scalar) add(y *scalar) {
	var carry uint64
	for l := range s {
		s[l], carry = bits.Add64(s[l], y[l], carry)
	}
}
