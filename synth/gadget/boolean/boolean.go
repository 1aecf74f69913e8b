// Package boolean is the gadget of bits: allocated bits, their negations and constants, and the Boolean operations with
// the constant folding of the deployed circuits (bellpepper-core's Boolean), rule by rule in the same order, because
// which rule applies decides which variables and rows exist.
//
// There are two representations. Bool is one bit; it works in every mode. Vec is a sequence of bits that in Assign mode
// is packed words and in the other modes is a []Bool: what moves between SHA-256, bit decomposition and packing should be
// a Vec, so that a witness is computed a word at a time.
package boolean

import (
	"errors"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
)

// ErrConstants: EnforceEqual was given two different constants.
var ErrConstants = errors.New("boolean: two different constants cannot be equal")

// Bool is a constant, an allocated bit, or the negation of one. Val is the value of the Bool itself (negation applied);
// for variables it is meaningless in Shape mode. The zero Bool is the allocated bit W[0]: use Const for a constant.
type Bool struct {
	Var  synth.Var
	Kind synth.WireKind
	Val  bool
}

// Const is a constant. It emits nothing.
func Const(v bool) Bool {
	if v {
		return Bool{Kind: synth.ConstTrue, Val: true}
	}
	return Bool{Kind: synth.ConstFalse}
}

// Alloc allocates a bit with value v and the row (1 - a) * a = 0.
func Alloc(b *synth.Builder, v bool) Bool {
	a := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		enforceBit(b, a.Var)
	}
	return a
}

// AllocConditionally allocates a bit with value v that must be false where f is true: (1 - f - a) * a = 0. f must be an
// allocated bit.
func AllocConditionally(b *synth.Builder, v bool, f Bool) Bool {
	a := Bool{Var: b.AllocBit(v), Val: v}
	if b.WantRows() {
		b.Enforce(b.LC().AddVar(synth.One).SubVar(f.Var).SubVar(a.Var), b.LC().AddVar(a.Var), nil)
	}
	return a
}

func enforceBit(b *synth.Builder, a synth.Var) {
	b.Enforce(b.LC().AddVar(synth.One).SubVar(a), b.LC().AddVar(a), nil)
}

// IsConst says whether x is a constant; its value is then Val in every mode.
func (x Bool) IsConst() bool { return x.Kind >= synth.ConstFalse }

// IsBit says whether x is an allocated bit, neither negated nor constant.
func (x Bool) IsBit() bool { return x.Kind == synth.Plain }

// Not is the negation of x. It emits nothing.
func (x Bool) Not() Bool {
	x.Kind ^= 1
	x.Val = !x.Val
	return x
}

// Wire is x as an end of a synth.Builder.Block.
func (x Bool) Wire() synth.Wire { return synth.Wire{Var: x.Var, Kind: x.Kind} }

// FromWire makes a Bool of what a Block returned. v is its value where the builder has values.
func FromWire(w synth.Wire, v bool) Bool {
	switch w.Kind {
	case synth.ConstFalse:
		v = false
	case synth.ConstTrue:
		v = true
	}
	return Bool{Var: w.Var, Kind: w.Kind, Val: v}
}

// AddTo adds k*x to l: k*a for a bit a, k*1 - k*a for its negation, k*1 or nothing for a constant.
func (x Bool) AddTo(l *synth.LC, k fr.Element) *synth.LC {
	switch x.Kind {
	case synth.Plain:
		l.Add(x.Var, k)
	case synth.ConstTrue:
		l.Add(synth.One, k)
	case synth.Negated:
		l.Add(synth.One, k)
		var m fr.Element
		l.Add(x.Var, *m.Neg(&k))
	}
	return l
}

// LC is a fresh linear combination of x alone; hand it to Enforce.
func (x Bool) LC(b *synth.Builder) *synth.LC { return x.AddTo(b.LC(), one) }

var (
	one      = fr.One()
	two      = fr.NewElement(2)
	minusOne = func() fr.Element { var m fr.Element; return *m.Neg(&one) }()
)
