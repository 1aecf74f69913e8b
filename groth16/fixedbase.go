package groth16

import (
	"context"
	"fmt"
	"math/big"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/par"
	"github.com/filgroth/filgroth/pinning"
)

// coord is the arithmetic of a coordinate field: fp.Element or bls12381.E2.
type coord[E any] interface {
	*E
	Add(a, b *E) *E
	Sub(a, b *E) *E
	Mul(a, b *E) *E
	Square(a *E) *E
	Double(a *E) *E
	Neg(a *E) *E
	Inverse(a *E) *E
	SetOne() *E
	IsZero() bool
	Equal(a *E) bool
}

// affine has the layout of G1Affine or G2Affine; (0, 0) is infinity.
type affine[E any] struct{ X, Y E }

// fixedBase multiplies one point by many scalars: table holds d·2^(c·w)·P for every window w and 1 <= d <= 2^(c-1),
// scalars are taken in signed digits, and the additions of many outputs share one inversion (Montgomery's trick).
type fixedBase[E any, F coord[E]] struct {
	c, windows int
	table      []affine[E]
	buf        *pinning.Buffer
}

// fixedWindow minimises additions, for n outputs and tables that stay near the caches.
func fixedWindow(n int) int {
	best, cost := 0, 0
	for c := 2; c <= 16; c++ {
		w := (256 + c - 1) / c
		if k := w * (n + 1<<(c-1)); best == 0 || k < cost {
			best, cost = c, k
		}
	}
	return best
}

// newFixedBase makes the tables for some n outputs; doubled gives 2^c times a point, by the curve's own doubling.
func newFixedBase[E any, F coord[E]](ctx context.Context, p affine[E], n, threads int, doubled func(affine[E], int) affine[E]) (*fixedBase[E, F], error) {
	f := &fixedBase[E, F]{c: fixedWindow(n)}
	f.windows = (256 + f.c - 1) / f.c
	half := 1 << (f.c - 1)
	buf, err := pinning.AllocWith(f.windows*half*int(unsafe.Sizeof(p)), "fixed-base table", pinning.Options{HugePages: true})
	if err != nil {
		return nil, err
	}
	f.buf = buf
	f.table = pinning.Slice[affine[E]](buf, f.windows*half)
	for w := 0; w < f.windows; w++ {
		f.table[w*half] = p
		p = doubled(p, f.c)
	}
	err = par.Do(ctx, threads, f.windows, func(_, w int) error {
		var s adder[E, F]
		t := f.table[w*half : (w+1)*half]
		for k := 1; k < half; k *= 2 { // t[:k] is 1..k times the base
			copy(t[k:2*k], t[:k])
			s.reset(k)
			for i := 0; i < k; i++ {
				s.add(&t[k+i], &t[k-1], false)
			}
			s.flush()
		}
		return nil
	})
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *fixedBase[E, F]) close() { _ = f.buf.Close() } // ours alone, closed once

// adder collects additions to distinct points and does them with one inversion.
type adder[E any, F coord[E]] struct {
	job []addJob[E]
}

type addJob[E any] struct {
	p             *affine[E]
	q             affine[E]
	den, num, pre E
	negate        bool
}

func (s *adder[E, F]) reset(n int) {
	if cap(s.job) < n {
		s.job = make([]addJob[E], 0, n)
	}
	s.job = s.job[:0]
}

// isInfinity: no point of the curve has order two, so that y = 0 is infinity alone.
func isInfinity[E any, F coord[E]](p *affine[E]) bool { return F(&p.Y).IsZero() }

// add notes p += q (or p -= q) for a finite q; p must not be used before flush. Copying q here, apart from the arithmetic,
// lets the cache misses on the table overlap.
func (s *adder[E, F]) add(p, q *affine[E], negate bool) {
	n := len(s.job)
	s.job = s.job[:n+1]
	j := &s.job[n]
	j.p, j.q, j.negate = p, *q, negate
}

// flush does the noted additions. Infinite, equal and opposite points are dealt with.
func (s *adder[E, F]) flush() {
	var acc, inv, l, x, t E
	F(&acc).SetOne()
	for i := range s.job {
		j := &s.job[i]
		if !prepare[E, F](j) {
			j.p = nil
			continue
		}
		j.pre = acc
		F(&acc).Mul(&acc, &j.den)
	}
	F(&inv).Inverse(&acc)
	for i := len(s.job) - 1; i >= 0; i-- {
		j := &s.job[i]
		if j.p == nil {
			continue
		}
		F(&l).Mul(&inv, &j.pre)
		F(&inv).Mul(&inv, &j.den)
		F(&l).Mul(&l, &j.num)
		F(&x).Square(&l)
		F(&x).Sub(&x, &j.p.X)
		F(&x).Sub(&x, &j.q.X)
		F(&t).Sub(&j.p.X, &x)
		F(&t).Mul(&t, &l)
		F(&j.p.Y).Sub(&t, &j.p.Y)
		j.p.X = x
	}
	s.job = s.job[:0]
}

// prepare sets the slope's numerator and denominator; it is false where the sum is known already.
func prepare[E any, F coord[E]](j *addJob[E]) bool {
	if j.negate {
		F(&j.q.Y).Neg(&j.q.Y)
	}
	if isInfinity[E, F](j.p) {
		*j.p = j.q
		return false
	}
	F(&j.den).Sub(&j.q.X, &j.p.X)
	if !F(&j.den).IsZero() {
		F(&j.num).Sub(&j.q.Y, &j.p.Y)
		return true
	}
	if !F(&j.q.Y).Equal(&j.p.Y) {
		*j.p = affine[E]{}
		return false
	}
	var t E
	F(&j.den).Double(&j.p.Y)
	F(&t).Square(&j.p.X)
	F(&j.num).Double(&t)
	F(&j.num).Add(&j.num, &t)
	return true
}

// mulScratch is one worker's memory for multiplying up to n scalars.
type mulScratch[E any, F coord[E]] struct {
	add    adder[E, F]
	digits []int32
}

// mul writes scalars[i]·P to dst[i].
func (f *fixedBase[E, F]) mul(s *mulScratch[E, F], dst []affine[E], scalars []fr.Element) {
	n := len(scalars)
	if cap(s.digits) < n*f.windows {
		s.digits = make([]int32, n*f.windows)
	}
	d := s.digits[:n*f.windows]
	for i := range scalars {
		signedDigits(d, i, n, f.c, f.windows, &scalars[i])
	}
	clear(dst)
	half := 1 << (f.c - 1)
	s.add.reset(n)
	for w := 0; w < f.windows; w++ {
		t := f.table[w*half : (w+1)*half]
		for i, k := range d[w*n : (w+1)*n] {
			switch {
			case k > 0:
				s.add.add(&dst[i], &t[k-1], false)
			case k < 0:
				s.add.add(&dst[i], &t[-k-1], true)
			}
		}
		s.add.flush()
	}
}

// signedDigits writes the base-2^c digits of k, each in [-2^(c-1), 2^(c-1)], to d[i], d[n+i], d[2n+i], ...
func signedDigits(d []int32, i, n, c, windows int, k *fr.Element) {
	v := k.Bits()
	carry := uint64(0)
	for w := 0; w < windows; w++ {
		at := w * c
		x := uint64(0)
		if at < 256 {
			x = v[at>>6] >> (at & 63)
			if at&63+c > 64 && at>>6 < 3 {
				x |= v[at>>6+1] << (64 - at&63)
			}
			x &= 1<<c - 1
		}
		x += carry
		carry = 0
		digit := int32(x)
		if x > 1<<(c-1) {
			digit -= 1 << c
			carry = 1
		}
		d[w*n+i] = digit
	}
}

type (
	fixedG1 = fixedBase[fp.Element, *fp.Element]
	fixedG2 = fixedBase[bls12381.E2, *bls12381.E2]
)

// newFixedG1 makes tables for n multiples of the generator of G1.
func newFixedG1(ctx context.Context, n, threads int) (*fixedG1, error) {
	_, _, g, _ := bls12381.Generators()
	return newFixedBase[fp.Element, *fp.Element](ctx, affine[fp.Element](g), n, threads, func(p affine[fp.Element], c int) affine[fp.Element] {
		q := bls12381.G1Affine(p)
		q.ScalarMultiplication(&q, new(big.Int).Lsh(big.NewInt(1), uint(c)))
		return affine[fp.Element](q)
	})
}

// newFixedG2 is newFixedG1 for G2.
func newFixedG2(ctx context.Context, n, threads int) (*fixedG2, error) {
	_, _, _, g := bls12381.Generators()
	return newFixedBase[bls12381.E2, *bls12381.E2](ctx, affine[bls12381.E2](g), n, threads, func(p affine[bls12381.E2], c int) affine[bls12381.E2] {
		q := bls12381.G2Affine(p)
		q.ScalarMultiplication(&q, new(big.Int).Lsh(big.NewInt(1), uint(c)))
		return affine[bls12381.E2](q)
	})
}

// UnconstrainedError: an aux variable that occurs in no row, for which there is no key.
type UnconstrainedError struct{ Aux int }

func (e *UnconstrainedError) Error() string {
	return fmt.Sprintf("groth16: setup: aux variable %d occurs in no constraint", e.Aux)
}
