package num

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// Lin is a linear combination with its value, not allocated. It emits nothing. LC is nil in Assign mode; in the others
// it belongs to the Lin and must not be given to Enforce (see Term). The zero Lin is zero.
type Lin struct {
	LC  *synth.LC
	Val fr.Element
}

// Lin is n as a linear combination.
func (n Num) Lin(b *synth.Builder) Lin {
	l := Lin{Val: n.Val}
	if b.WantRows() {
		l.LC = new(synth.LC).AddVar(n.Var)
	}
	return l
}

// AddBool adds k*x.
func (l *Lin) AddBool(b *synth.Builder, x boolean.Bool, k fr.Element) {
	if x.Val {
		l.Val.Add(&l.Val, &k)
	}
	if b.WantRows() {
		x.AddTo(l.lc(), k)
	}
}

// AddNum adds k*n.
func (l *Lin) AddNum(b *synth.Builder, n Num, k fr.Element) {
	if b.HasValues() {
		var t fr.Element
		t.Mul(&n.Val, &k)
		l.Val.Add(&l.Val, &t)
	}
	if b.WantRows() {
		l.lc().Add(n.Var, k)
	}
}

// AddConst adds the constant k.
func (l *Lin) AddConst(b *synth.Builder, k fr.Element) {
	l.Val.Add(&l.Val, &k)
	if b.WantRows() {
		l.lc().AddConst(k)
	}
}

// Add adds k*m.
func (l *Lin) Add(b *synth.Builder, m Lin, k fr.Element) {
	var t fr.Element
	t.Mul(&m.Val, &k)
	l.Val.Add(&l.Val, &t)
	if b.WantRows() && m.LC != nil {
		l.lc().AddLC(k, m.LC)
	}
}

func (l *Lin) lc() *synth.LC {
	if l.LC == nil {
		l.LC = new(synth.LC)
	}
	return l.LC
}

// Term copies l into a fresh linear combination that may be given to Enforce.
func (l *Lin) Term(b *synth.Builder) *synth.LC {
	c := b.LC()
	if l.LC != nil {
		for _, t := range l.LC.Terms() {
			c.Add(t.Var, t.Coeff)
		}
	}
	return c
}
