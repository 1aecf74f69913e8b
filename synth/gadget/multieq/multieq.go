// Package multieq packs several equalities between small linear combinations into one row, as the deployed SHA-256
// gadget does. It is for gadgets whose row layout must equal the deployed one; there is no reason to use it elsewhere.
package multieq

import (
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// capacity is the number of bits that fit below the field modulus.
const capacity = 254

// MultiEq collects equalities between integers of known bit length and enforces them together:
// [sum 2^off_i L_i] * [1] = [sum 2^off_i R_i]. Flush at the end. In Assign mode it does nothing.
type MultiEq struct {
	b    *synth.Builder
	base int // 2^base scales the equality that is open
	used int
	side [2]side
}

// side is one of the two sums. A term +-2^k * v is one word, so that a thousand of them are sorted quickly instead of
// being inserted one by one into a sorted list.
type side struct {
	keys   []uint64 // order of the variable << 32 | exponent << 1 | sign
	const1 fr.Element
	other  []synth.Term
}

// New starts with nothing collected.
func New(b *synth.Builder) *MultiEq { return &MultiEq{b: b} }

// Builder is where the rows go.
func (m *MultiEq) Builder() *synth.Builder { return m.b }

// EnforceEqual collects l = r, both less than 2^n. It reads l and r and leaves them to the caller.
func (m *MultiEq) EnforceEqual(n int, l, r *synth.LC) {
	if !m.b.WantRows() {
		return
	}
	m.Begin(n)
	for i, x := range []*synth.LC{l, r} {
		for _, t := range x.Terms() {
			t.Coeff.Mul(&t.Coeff, &pow2[m.base])
			m.side[i].other = append(m.side[i].other, t)
		}
	}
}

// Begin opens an equality of n bits, first enforcing what there is if the new one does not fit. What Left and Right are
// given until the next Begin belongs to it.
func (m *MultiEq) Begin(n int) {
	if m.used+n >= capacity {
		m.Flush()
	}
	m.base = m.used
	m.used += n
}

// Left adds 2^exp * x to the left side of the open equality, Right to the right side.
func (m *MultiEq) Left(x boolean.Bool, exp int) { m.side[0].add(x, m.base+exp) }

// Right adds 2^exp * x to the right side.
func (m *MultiEq) Right(x boolean.Bool, exp int) { m.side[1].add(x, m.base+exp) }

func (s *side) add(x boolean.Bool, exp int) {
	key := uint64(uint32(x.Var)^1<<31)<<32 | uint64(exp)<<1
	switch x.Kind {
	case synth.Plain:
		s.keys = append(s.keys, key)
	case synth.Negated:
		s.keys = append(s.keys, key|1)
		s.const1.Add(&s.const1, &pow2[exp])
	case synth.ConstTrue:
		s.const1.Add(&s.const1, &pow2[exp])
	}
}

// Flush enforces what was collected, if anything.
func (m *MultiEq) Flush() {
	if m.used == 0 {
		return
	}
	m.b.Enforce(m.side[0].take(m.b), m.b.LC().AddVar(synth.One), m.side[1].take(m.b))
	m.used = 0
}

func (s *side) take(b *synth.Builder) *synth.LC {
	l := b.LC()
	if !s.const1.IsZero() {
		l.AddConst(s.const1)
	}
	slices.Sort(s.keys)
	for i := 0; i < len(s.keys); {
		v := s.keys[i] >> 32
		var c fr.Element
		for ; i < len(s.keys) && s.keys[i]>>32 == v; i++ {
			if p := &pow2[s.keys[i]>>1&0xFF]; s.keys[i]&1 == 0 {
				c.Add(&c, p)
			} else {
				c.Sub(&c, p)
			}
		}
		l.Add(synth.Var(v)^1<<31, c)
	}
	for _, t := range s.other {
		l.Add(t.Var, t.Coeff)
	}
	s.keys, s.other = s.keys[:0], s.other[:0]
	s.const1.SetZero()
	return l
}

var pow2 = func() (p [256]fr.Element) {
	p[0].SetOne()
	for i := 1; i < len(p); i++ {
		p[i].Double(&p[i-1])
	}
	return
}()
