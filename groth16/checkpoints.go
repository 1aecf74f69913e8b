package groth16

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/internal/par"
)

// The subgroup of many points is checked by sums over random buckets. Every point goes into one of 2^b buckets in each of t
// rounds, and the sum of every bucket must be in the subgroup. Suppose that some point is not, and place it last: at most
// one bucket lets its round pass, so a round passes with probability at most 2^-b, and all of them with 2^-bt. That takes
// t additions a point instead of 128 doublings, and t·2^b single checks at the end.
const (
	bucketSecurity = 128     // at least b·t
	bucketBlock    = 1 << 20 // points of one check
	bucketMin      = 1 << 11 // below, points are checked one by one
	bucketRun      = 256     // points between looks at the context
	bucketCheck    = 180     // what a single check costs, in additions
)

// bucketShape minimises the work for n points.
func bucketShape(n int) (b, t int) {
	best := 0
	for i := 4; i <= 12; i++ {
		rounds := (bucketSecurity + i - 1) / i
		if cost := rounds * (n + bucketCheck<<i); best == 0 || cost < best {
			best, b, t = cost, i, rounds
		}
	}
	return b, t
}

// pointGroup is what checks need to know of G1 or G2.
type pointGroup[E any] struct {
	size     int
	get      func(*affine[E], []byte) error // decodes, checks the curve equation
	subgroup func(*affine[E]) bool
}

var (
	groupG1 = pointGroup[fp.Element]{curveio.G1Size,
		func(p *affine[fp.Element], b []byte) error {
			return curveio.G1((*bls12381.G1Affine)(unsafe.Pointer(p)), b)
		},
		func(p *affine[fp.Element]) bool { return (*bls12381.G1Affine)(unsafe.Pointer(p)).IsInSubGroup() }}
	groupG2 = pointGroup[bls12381.E2]{curveio.G2Size,
		func(p *affine[bls12381.E2], b []byte) error {
			return curveio.G2((*bls12381.G2Affine)(unsafe.Pointer(p)), b)
		},
		func(p *affine[bls12381.E2]) bool {
			return (*bls12381.G2Affine)(unsafe.Pointer(p)).IsInSubGroup()
		}}
)

// CheckPoints decodes every point of every section and, with subgroups, tests that all are in the prime-order subgroup,
// with a probability of error below 2^-128. A bad point is a *KeyError with its index. That reads the whole key, at
// some microseconds of processor time a point.
func (k *ProvingKey) CheckPoints(ctx context.Context, subgroups bool, threads int) error {
	if err := k.hold(); err != nil {
		return err
	}
	var err error
	for s := SectionH; s < NumSections && err == nil; s++ {
		if s == SectionB2 {
			err = checkSection[bls12381.E2](ctx, k, s, groupG2, subgroups, threads)
		} else {
			err = checkSection[fp.Element](ctx, k, s, groupG1, subgroups, threads)
		}
	}
	return errors.Join(err, k.Release())
}

func checkSection[E any, F coord[E]](ctx context.Context, k *ProvingKey, s Section, g pointGroup[E], subgroups bool, threads int) error {
	n := k.lens[s]
	if !subgroups || n < bucketMin {
		return par.Range(ctx, threads, n, bucketRun, func(_, lo, hi int) error {
			return eachPoint(ctx, k, s, g, lo, hi, func(i int, p *affine[E]) error {
				if subgroups && !g.subgroup(p) {
					return &KeyError{k.path, s.String(), i, curveio.ErrSubgroup}
				}
				return nil
			})
		})
	}
	block := min(bucketBlock, (n+par.Workers(threads, n)-1)/par.Workers(threads, n))
	return par.Range(ctx, threads, n, block, func(_, lo, hi int) error {
		return checkBlock[E, F](ctx, k, s, g, lo, hi)
	})
}

// eachPoint decodes points [lo, hi).
func eachPoint[E any](ctx context.Context, k *ProvingKey, s Section, g pointGroup[E], lo, hi int, f func(i int, p *affine[E]) error) error {
	var p affine[E]
	for at := lo; at < hi; at += bucketRun {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(bucketRun, hi-at)
		b, err := k.raw(s, at, n)
		if err != nil {
			return err
		}
		err = k.mapped(s, func() error {
			for i := range n {
				if err := g.get(&p, b[i*g.size:(i+1)*g.size]); err != nil {
					return &KeyError{k.path, s.String(), at + i, err}
				}
				if err := f(at+i, &p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkBlock sums points [lo, hi) into buckets and checks those; if one is bad it looks for the point.
func checkBlock[E any, F coord[E]](ctx context.Context, k *ProvingKey, s Section, g pointGroup[E], lo, hi int) error {
	b, err := newBuckets[E, F](hi - lo)
	if err != nil {
		return err
	}
	err = eachPoint(ctx, k, s, g, lo, hi, func(_ int, p *affine[E]) error { b.put(p); return nil })
	if err != nil {
		return err
	}
	b.flush()
	bad := false
	for i := range b.sums {
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if p := &b.sums[i]; !isInfinity[E, F](p) && !g.subgroup(p) {
			bad = true
			break
		}
	}
	if !bad {
		return nil
	}
	err = eachPoint(ctx, k, s, g, lo, hi, func(i int, p *affine[E]) error {
		if !g.subgroup(p) {
			return &KeyError{k.path, s.String(), i, curveio.ErrSubgroup}
		}
		return nil
	})
	if err == nil { // cannot be: sums of subgroup points stay in it
		err = &KeyError{k.path, s.String(), -1, fmt.Errorf("%w: points %d to %d", curveio.ErrSubgroup, lo, hi)}
	}
	return err
}

// buckets are the sums of one block. Additions are collected and share an inversion; a bucket takes part once.
type buckets[E any, F coord[E]] struct {
	sums  []affine[E]
	taken []uint32 // the batch that a bucket takes part in
	batch uint32
	add   adder[E, F]
	rng   *rand.ChaCha8

	bits, rounds int
}

func newBuckets[E any, F coord[E]](points int) (*buckets[E, F], error) {
	var seed [32]byte
	if _, err := crand.Read(seed[:]); err != nil {
		return nil, err
	}
	b := &buckets[E, F]{batch: 1, rng: rand.NewChaCha8(seed)}
	b.bits, b.rounds = bucketShape(points)
	b.sums, b.taken = make([]affine[E], b.rounds<<b.bits), make([]uint32, b.rounds<<b.bits)
	b.add.reset(1024)
	return b, nil
}

func (b *buckets[E, F]) put(p *affine[E]) {
	var w uint64
	left := 0
	for r := range b.rounds {
		if left == 0 {
			w, left = b.rng.Uint64(), 64/b.bits
		}
		i := r<<b.bits | int(w&(1<<b.bits-1))
		w >>= b.bits
		left--
		if b.taken[i] == b.batch || len(b.add.job) == cap(b.add.job) {
			b.flush()
		}
		b.taken[i] = b.batch
		b.add.add(&b.sums[i], p, false)
	}
}

func (b *buckets[E, F]) flush() {
	b.add.flush()
	b.batch++
}
