package msm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
)

// defaultPass is how many points go through the windows together unless told otherwise:
// enough to make the weighing of 2^16 buckets a small part.
const defaultPass = 1 << 22

// Up to few scalars are multiplied one by one, up to some by gnark-crypto, which takes
// three milliseconds at most: trees of additions pay from more on (BenchmarkFew).
const (
	few  = 8
	some = 160
)

// job is one sum under way.
type job[P, J any] struct {
	ctx    context.Context
	curve  *curve[P, J]
	points []P
	cfg    Config
	trees  []*tree[P, J] // one a worker, made when first used

	mu     sync.Mutex
	result J
}

func sum[P, J any](ctx context.Context, c *curve[P, J], points []P, k Scalars, cfg Config) (J, error) {
	var zero J
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	if err := k.Check(len(points)); err != nil {
		return zero, err
	}
	if uint64(len(points)) > maxPoints {
		return zero, fmt.Errorf("msm: %d points: at most 2^31", len(points))
	}
	j := &job[P, J]{ctx: ctx, curve: c, points: points, cfg: cfg, result: c.infinity()}
	j.trees = make([]*tree[P, J], par.Workers(cfg.Threads, 1<<30))
	defer j.release()
	var err error
	if k.Dense != nil {
		err = j.dense(k.Dense)
	} else {
		err = j.sparse(k)
	}
	if err != nil {
		return zero, err
	}
	return j.result, nil
}

func (j *job[P, J]) tree(worker int) *tree[P, J] {
	if j.trees[worker] == nil {
		t, ok := j.curve.trees.Get().(*tree[P, J])
		if !ok {
			t = newTree(j.curve)
		}
		j.trees[worker] = t
	}
	return j.trees[worker]
}

// release gives the scratch back when no worker is left.
func (j *job[P, J]) release() {
	for _, t := range j.trees {
		if t != nil {
			j.curve.trees.Put(t)
		}
	}
}

// add adds a partial sum to the result.
func (j *job[P, J]) add(part *J) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.curve.add(&j.result, part)
}

func (j *job[P, J]) addPoint(part *P) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.curve.addMixed(&j.result, part)
}

func (j *job[P, J]) passPoints() int {
	if j.cfg.PassPoints > 0 {
		return j.cfg.PassPoints
	}
	return defaultPass
}

// passes calls fn for ranges of [0, n) of at most passPoints, as equal as can be.
func (j *job[P, J]) passes(n int, fn func(from, to int) error) error {
	count := (n + j.passPoints() - 1) / j.passPoints()
	for i := 0; i < count; i++ {
		// The products stay below 2^31 times the number of passes, 2^31 at most.
		from, to := uint64(n)*uint64(i)/uint64(count), uint64(n)*uint64(i+1)/uint64(count)
		if err := fn(int(from), int(to)); err != nil {
			return err
		}
	}
	return nil
}

// pass adds the sum of scalars k[from:to] times the points of the same indices or, with
// index, points index[from:to].
func (j *job[P, J]) pass(from, to int, k []fr.Element, index []uint32) (err error) {
	var space scratch
	defer func() { err = errors.Join(err, space.close()) }()
	r, err := newRest(&space, to-from)
	if err != nil {
		return err
	}
	err = par.Range(j.ctx, j.cfg.Threads, to-from, j.curve.slice, func(worker, lo, hi int) error {
		t := j.tree(worker)
		t.spare = r.classify(lo, hi, from, k, index, t.spare[:0], j.finite)
		j.addOnes(t, t.spare)
		return nil
	})
	if err != nil {
		return err
	}
	return j.windows(r)
}

func (j *job[P, J]) dense(k []fr.Element) error {
	return j.passes(len(k), func(from, to int) error { return j.pass(from, to, k, nil) })
}

func (j *job[P, J]) sparse(k Scalars) error {
	chunk := j.curve.slice // a multiple of 64
	err := par.Range(j.ctx, j.cfg.Threads, len(j.points), chunk, func(worker, lo, hi int) error {
		t := j.tree(worker)
		ones := t.spare[:0]
		for w := lo / 64; w < (hi+63)/64; w++ {
			for word := k.Bits[w]; word != 0; word &= word - 1 {
				i := w*64 + bits.TrailingZeros64(word)
				if j.finite(i) {
					ones = append(ones, entry(i)<<1)
				}
			}
		}
		t.spare = ones
		j.addOnes(t, ones)
		return nil
	})
	if err != nil {
		return err
	}
	return j.passes(len(k.Tail), func(from, to int) error { return j.pass(from, to, k.Tail, k.TailAt) })
}

func (j *job[P, J]) finite(i int) bool { return !j.curve.infinite(&j.points[i]) }

// addOnes adds the points that the entries name to the result.
func (j *job[P, J]) addOnes(t *tree[P, J], ones []entry) {
	if len(ones) == 0 {
		return
	}
	t.spareSegs = append(t.spareSegs[:0], segment{0, len(ones), 0})
	t.sums(j.points, ones, t.spareSegs, func(_ int, p *P) { j.addPoint(p) })
}

// rest are the points of a pass whose scalars are neither 0 nor 1: in pieces (one for
// each call of classify), since these are filled in parallel.
type rest struct {
	at     []entry  // the point, negative if the scalar is -scalar
	scalar []scalar // in [0, r/2]

	mu     sync.Mutex
	pieces []piece
	count  int
}

type piece struct{ from, to int }

// scalar is a canonical integer, least significant word first.
type scalar [4]uint64

func newRest(s *scratch, n int) (*rest, error) {
	var r rest
	var err error
	if r.at, err = take[entry](s, n); err != nil {
		return nil, err
	}
	r.scalar, err = take[scalar](s, n)
	return &r, err
}

// classify sorts scalars k[base+lo:base+hi], which belong to the points of the same
// indices or, with index, to points index[base+lo:base+hi]. It appends the points with
// scalar 1 or -1 to ones and files the others except zeros under r.
func (r *rest) classify(lo, hi, base int, k []fr.Element, index []uint32, ones []entry, finite func(int) bool) []entry {
	one := fr.One()
	next := lo
	for i := base + lo; i < base+hi; i++ {
		if k[i].IsZero() {
			continue
		}
		p := i
		if index != nil {
			p = int(index[i])
		}
		if !finite(p) {
			continue
		}
		e := entry(p) << 1
		if k[i] == one {
			ones = append(ones, e)
			continue
		}
		s := scalar(k[i].Bits())
		if s.negate() {
			e |= 1
		}
		if s == (scalar{1}) {
			ones = append(ones, e)
			continue
		}
		r.at[next], r.scalar[next] = e, s
		next++
	}
	if next > lo {
		r.mu.Lock()
		r.pieces = append(r.pieces, piece{lo, next})
		r.count += next - lo
		r.mu.Unlock()
	}
	return ones
}

// list returns the places that are filled.
func (r *rest) list() []int {
	index := make([]int, 0, r.count)
	for _, p := range r.pieces {
		for i := p.from; i < p.to; i++ {
			index = append(index, i)
		}
	}
	return index
}

// order is r, halfOrder (r-1)/2.
var (
	order     = scalar{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}
	halfOrder = scalar{0x7fffffff80000000, 0xa9ded2017fff2dff, 0x199cec0404d0ec02, 0x39f6d3a994cebea4}
)

// negate replaces s by r-s if that is smaller, and says whether it did.
func (s *scalar) negate() bool {
	var borrow uint64
	for i := range s {
		_, borrow = bits.Sub64(halfOrder[i], s[i], borrow)
	}
	if borrow == 0 {
		return false
	}
	borrow = 0
	for i := range s {
		s[i], borrow = bits.Sub64(order[i], s[i], borrow)
	}
	return true
}

// big returns s as an integer, negative if e is.
func (s *scalar) big(e entry) *big.Int {
	z := new(big.Int)
	for i := 3; i >= 0; i-- {
		z.Lsh(z, 64)
		z.Or(z, new(big.Int).SetUint64(s[i]))
	}
	if e&1 != 0 {
		z.Neg(z)
	}
	return z
}
