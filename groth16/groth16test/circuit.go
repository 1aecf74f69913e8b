package groth16test

import (
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
)

// Pattern says which variables of a Circuit occur in some B.
type Pattern uint8

// The density corner cases: all, none, every second, the first or the last third.
const (
	BAll Pattern = iota
	BNone
	BAlternating
	BLeading
	BTrailing
)

func (p Pattern) String() string {
	return [...]string{"all", "none", "alternating", "leading", "trailing"}[p]
}

func (p Pattern) has(i, n int) bool {
	switch p {
	case BAll:
		return true
	case BAlternating:
		return i%2 == 0
	case BLeading:
		return i < n/3
	case BTrailing:
		return i >= n-n/3
	}
	return false
}

// Circuit is a satisfiable circuit whose structure follows from Seed and the counts, and whose witness from Values: free
// bits and field elements under the rows of its pattern, products of random linear combinations, blocks that recur, and
// empty rows up to Rows.
type Circuit struct {
	Seed, Values           uint64
	Inputs                 int // without the constant one
	Bits, Fields           int
	Products, Blocks, Rows int
	B                      Pattern
}

type variable struct {
	v   synth.Var
	val fr.Element
	bit bool
}

// Synthesize implements synth.Circuit.
func (c Circuit) Synthesize(b *synth.Builder) error {
	shape, vals := rand.New(rand.NewPCG(c.Seed, 1)), rand.New(rand.NewPCG(c.Values, 2))
	var all []variable
	for range c.Inputs {
		x := element(vals)
		all = append(all, variable{b.AllocInput(x), x, false})
	}
	free := c.allocate(b, shape, vals)
	for i := range free {
		all = append(all, c.use(b, &free[i], c.B.has(i, len(free)))...)
	}
	if len(all) > 0 {
		for range c.Products {
			all = append(all, product(b, shape, all))
		}
		for range c.Blocks {
			block(b, all[shape.IntN(len(all))])
		}
	}
	for _, _, rows := b.Counts(); rows < c.Rows && b.WantRows(); rows++ {
		b.Enforce(nil, nil, nil)
	}
	return b.Err()
}

// allocate makes runs of bits and single field elements in random order.
func (c Circuit) allocate(b *synth.Builder, shape, vals *rand.Rand) (free []variable) {
	bits, fields := c.Bits, c.Fields
	for bits+fields > 0 {
		if shape.IntN(bits+fields) < fields {
			x := element(vals)
			free = append(free, variable{b.Alloc(x), x, false})
			fields--
			continue
		}
		n := min(bits, 1+shape.IntN(64))
		w := vals.Uint64() & (^uint64(0) >> (64 - n))
		first := b.AllocBits(w, n)
		for i := range n {
			free = append(free, variable{first + synth.Var(i), fr.NewElement(w >> i & 1), true})
		}
		bits -= n
	}
	return free
}

// use constrains a free variable, with or without an occurrence in B.
func (c Circuit) use(b *synth.Builder, x *variable, inB bool) []variable {
	switch {
	case !inB:
		b.Enforce(b.LC().AddVar(x.v), nil, nil)
	case x.bit:
		b.Enforce(b.LC().AddVar(x.v), b.LC().AddVar(x.v), b.LC().AddVar(x.v))
	default: // the square occurs in C only, so that A has gaps
		var s fr.Element
		s.Square(&x.val)
		b.Enforce(b.LC().AddVar(x.v), b.LC().AddVar(x.v), b.LC().AddVar(b.Alloc(s)))
	}
	return []variable{*x}
}

// product allocates (x + k·y)·(z - 1).
func product(b *synth.Builder, shape *rand.Rand, all []variable) variable {
	x, y, z := all[shape.IntN(len(all))], all[shape.IntN(len(all))], all[shape.IntN(len(all))]
	k := element(shape)
	if shape.IntN(2) == 0 {
		k.SetInt64(int64(shape.IntN(9)) - 4)
	}
	var l, r fr.Element
	one := fr.One()
	l.Mul(&k, &y.val)
	l.Add(&l, &x.val)
	r.Sub(&z.val, &one)
	l.Mul(&l, &r)
	o := b.Alloc(l)
	b.Enforce(b.LC().AddVar(x.v).Add(y.v, k), b.LC().AddVar(z.v).SubVar(synth.One), b.LC().AddVar(o))
	return variable{o, l, false}
}

// block recurs with one wire: a square, its successor, and eight bits that are free.
func block(b *synth.Builder, x variable) {
	type key struct{ bit bool }
	var s fr.Element
	s.Square(&x.val)
	low := x.val.Bits()[0] & 0xff
	b.Block(key{x.bit}, []synth.Var{x.v}, func() []synth.Wire {
		sv := b.Alloc(s)
		b.Enforce(b.LC().AddVar(x.v), b.LC().AddVar(x.v), b.LC().AddVar(sv))
		first := b.AllocBits(low, 8)
		for i := range synth.Var(8) {
			b.Enforce(b.LC().AddVar(synth.One).SubVar(first+i), b.LC().AddVar(first+i), nil)
		}
		return nil
	})
}

func element(r *rand.Rand) (e fr.Element) {
	var b [40]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return *e.SetBytes(b[:])
}
