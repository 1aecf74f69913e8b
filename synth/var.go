package synth

import (
	"fmt"
	"sort"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Var names a variable of a constraint system. Public inputs and private ("aux") variables have index spaces of their
// own, each counted from zero in order of allocation; bit 31 tells them apart. Input 0 is the constant one.
type Var uint32

const inputFlag Var = 1 << 31

// MaxVars bounds each of the two index spaces.
const MaxVars = 1 << 31

// One is the constant-one input that every system starts with.
const One = inputFlag

// InputVar is the i-th public input, with InputVar(0) == One.
func InputVar(i int) Var { return Var(i) | inputFlag }

// AuxVar is the i-th private variable.
func AuxVar(i int) Var { return Var(i) }

// IsInput says whether v is a public input.
func (v Var) IsInput() bool { return v&inputFlag != 0 }

// Index is the position of v among the inputs or among the aux variables.
func (v Var) Index() int { return int(v &^ inputFlag) }

// String gives "I[3]" or "W[17]", the notation of the specification.
func (v Var) String() string {
	if v.IsInput() {
		return fmt.Sprintf("I[%d]", v.Index())
	}
	return fmt.Sprintf("W[%d]", v.Index())
}

// order sorts inputs before aux, each by index: the term order of the deployed stack.
func (v Var) order() uint32 { return uint32(v ^ inputFlag) }

// Term is Coeff * Var. Coeff is in Montgomery form, as every fr.Element of this module.
type Term struct {
	Var   Var
	Coeff fr.Element
}

// LC is a linear combination: terms sorted inputs first, then aux, by index, each variable once. As in the deployed
// stack a coefficient that has become zero stays stored and is ignored by every consumer.
//
// The zero LC is empty and ready for use. Obtain one from Builder.LC where it will be handed to Builder.Enforce, which
// takes it back; an LC must not be used after that.
type LC struct {
	terms  []Term
	pooled bool
}

// Terms is a view of the terms, valid until the next change.
func (l *LC) Terms() []Term { return l.terms }

// Reset empties l and keeps its storage.
func (l *LC) Reset() *LC { l.terms = l.terms[:0]; return l }

// Add adds c*v, merging with a term of the same variable.
func (l *LC) Add(v Var, c fr.Element) *LC {
	n := len(l.terms)
	if n == 0 || l.terms[n-1].Var.order() < v.order() {
		l.terms = append(l.terms, Term{v, c})
		return l
	}
	o := v.order()
	i := sort.Search(n, func(i int) bool { return l.terms[i].Var.order() >= o })
	if i < n && l.terms[i].Var == v {
		l.terms[i].Coeff.Add(&l.terms[i].Coeff, &c)
		return l
	}
	l.terms = append(l.terms, Term{})
	copy(l.terms[i+1:], l.terms[i:])
	l.terms[i] = Term{v, c}
	return l
}

// AddVar adds v with coefficient one, SubVar with minus one.
func (l *LC) AddVar(v Var) *LC { return l.Add(v, frOne) }

// SubVar subtracts v.
func (l *LC) SubVar(v Var) *LC { return l.Add(v, frMinusOne) }

// AddConst adds c times the constant one.
func (l *LC) AddConst(c fr.Element) *LC { return l.Add(One, c) }

// AddLC adds c*m; m is unchanged and may not be l itself.
func (l *LC) AddLC(c fr.Element, m *LC) *LC {
	for i := range m.terms {
		var k fr.Element
		k.Mul(&c, &m.terms[i].Coeff)
		l.Add(m.terms[i].Var, k)
	}
	return l
}

var (
	frOne      = fr.One()
	frMinusOne = func() fr.Element { var m fr.Element; m.Neg(&frOne); return m }()
)
