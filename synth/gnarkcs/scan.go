package gnarkcs

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bls12-381"
)

// scanned is what the rows say about the wires.
type scanned struct {
	used []bool // occurs in some row with a coefficient other than zero
	bit  []bool // the rows leave it 0 and 1 only
	pack bool
}

// maxOthers bounds the bits beside the wire whose values are tried one by one; maxPasses the sweeps over the rows, of which
// all but the first see bits that rows further down have shown.
const (
	maxOthers = 4
	maxPasses = 3
)

// scan checks every index of the rows and finds the bits. A wire is a bit if one row alone, or with wires known to be bits
// by then, has no solution in which it is anything but 0 or 1: by induction every satisfying witness has it so.
func scan(ctx context.Context, r *cs.R1CS, p Packing) (*scanned, error) {
	internal, secret, public := r.GetNbVariables()
	n := internal + secret + public
	s := &scanned{used: make([]bool, n), bit: make([]bool, n), pack: p != PackNone}
	if err := s.mark(ctx, r); err != nil {
		return nil, err
	}
	others := maxOthers
	switch p {
	case PackNone:
		return s, nil
	case PackBooleanity:
		others = 0
	}
	f := &forcing{coeffs: r.Coefficients, bit: s.bit}
	for pass := 0; pass < maxPasses; pass++ {
		found := 0
		it := r.GetR1CIterator()
		for i := 0; ; i++ {
			row := it.Next()
			if row == nil {
				break
			}
			if i%4096 == 0 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if w, ok := f.forced(row, others); ok {
				s.bit[w] = true
				found++
			}
		}
		if found == 0 || others == 0 {
			break
		}
	}
	return s, nil
}

// mark fills used.
func (s *scanned) mark(ctx context.Context, r *cs.R1CS) error {
	it := r.GetR1CIterator()
	for i := 0; ; i++ {
		row := it.Next()
		if row == nil {
			return nil
		}
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range [3]constraint.LinearExpression{row.L, row.R, row.O} {
			for _, t := range e {
				if uint64(t.VID) >= uint64(len(s.used)) || uint64(t.CID) >= uint64(len(r.Coefficients)) {
					return fmt.Errorf("%w: row %d: wire %d, coefficient %d", ErrMalformed, i, t.VID, t.CID)
				}
				if t.CID != constraint.CoeffIdZero && !r.Coefficients[t.CID].IsZero() {
					s.used[t.VID] = true
				}
			}
		}
	}
}

// forcing looks for the wire that a row makes a bit.
type forcing struct {
	coeffs []fr.Element
	bit    []bool
	other  []uint32 // the bits of the row
}

// forced gives the one wire of the row that is not known to be a bit, if the row makes it one.
func (f *forcing) forced(row *constraint.R1C, others int) (w uint32, ok bool) {
	if len(row.L)+len(row.R)+len(row.O) > 4*(maxOthers+2) {
		return 0, false
	}
	f.other = f.other[:0]
	for _, e := range [3]constraint.LinearExpression{row.L, row.R, row.O} {
		for _, t := range e {
			switch {
			case t.VID == 0 || t.CID == constraint.CoeffIdZero:
			case f.bit[t.VID]:
				if !f.note(t.VID) || len(f.other) > others {
					return 0, false
				}
			case w == 0:
				w = t.VID
			case w != t.VID:
				return 0, false
			}
		}
	}
	if w == 0 {
		return 0, false
	}
	for m := range 1 << len(f.other) {
		if !f.binary(row, w, m) {
			return 0, false
		}
	}
	return w, true
}

// note adds a wire to other once.
func (f *forcing) note(w uint32) bool {
	for _, o := range f.other {
		if o == w {
			return true
		}
	}
	f.other = append(f.other, w)
	return len(f.other) <= maxOthers
}

// linear is c0 + c1·w with the other bits set to those of mask.
func (f *forcing) linear(e constraint.LinearExpression, w uint32, mask int) (c [2]fr.Element) {
	for _, t := range e {
		k := &f.coeffs[t.CID]
		switch {
		case t.CID == constraint.CoeffIdZero:
		case t.VID == w:
			c[1].Add(&c[1], k)
		case t.VID == 0:
			c[0].Add(&c[0], k)
		default:
			for i, o := range f.other {
				if o == t.VID && mask>>i&1 == 1 {
					c[0].Add(&c[0], k)
				}
			}
		}
	}
	return c
}

// binary says whether L·R - O, a polynomial of degree two in w, has no other roots than 0 and 1.
func (f *forcing) binary(row *constraint.R1C, w uint32, mask int) bool {
	l, r, o := f.linear(row.L, w, mask), f.linear(row.R, w, mask), f.linear(row.O, w, mask)
	var p [3]fr.Element
	var x fr.Element
	p[0].Mul(&l[0], &r[0])
	p[0].Sub(&p[0], &o[0])
	p[1].Mul(&l[0], &r[1])
	p[1].Add(&p[1], x.Mul(&l[1], &r[0]))
	p[1].Sub(&p[1], &o[1])
	p[2].Mul(&l[1], &r[1])
	switch {
	case !p[2].IsZero():
		// p2·w·(w-1), p2·w², or p2·(w-1)²
		minus := x.Neg(&p[2])
		if p[0].IsZero() {
			return p[1].IsZero() || p[1].Equal(minus)
		}
		var two fr.Element
		two.Double(minus)
		return p[0].Equal(&p[2]) && p[1].Equal(&two)
	case !p[1].IsZero():
		return p[0].IsZero() || p[0].Equal(x.Neg(&p[1]))
	}
	return !p[0].IsZero() // no solution with these bits
}
