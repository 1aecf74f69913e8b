// Package num is the gadget of allocated field elements: arithmetic, bit decomposition, linear numbers, 64-bit integers.
// Everything here emits exactly the variables and rows of the deployed circuits (bellpepper-core's AllocatedNum and the
// helpers of storage-proofs).
package num

import (
	"errors"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// ErrZero: AssertNonzero was given a zero witness.
var ErrZero = errors.New("num: value is zero")

// Num is an allocated variable with its value (Montgomery; zero in Shape mode).
type Num struct {
	Var synth.Var
	Val fr.Element
}

// Alloc allocates an aux variable with value v.
func Alloc(b *synth.Builder, v fr.Element) Num { return Num{b.Alloc(v), v} }

// AllocInput allocates a public input with value v.
func AllocInput(b *synth.Builder, v fr.Element) Num { return Num{b.AllocInput(v), v} }

// LC is a fresh linear combination of n alone; hand it to Enforce.
func (n Num) LC(b *synth.Builder) *synth.LC { return b.LC().AddVar(n.Var) }

// Inputize makes n public: x is allocated as an input with [x] * [1] = [n].
func (n Num) Inputize(b *synth.Builder) Num {
	x := AllocInput(b, n.Val)
	Equal(b, x, n)
	return x
}

// Mul is x*y: [x] * [y] = [c].
func Mul(b *synth.Builder, x, y Num) Num {
	var v fr.Element
	if b.HasValues() {
		v.Mul(&x.Val, &y.Val)
	}
	c := Alloc(b, v)
	if b.WantRows() {
		b.Enforce(x.LC(b), y.LC(b), c.LC(b))
	}
	return c
}

// Square is x*x: [x] * [x] = [c].
func Square(b *synth.Builder, x Num) Num {
	var v fr.Element
	if b.HasValues() {
		v.Square(&x.Val)
	}
	c := Alloc(b, v)
	if b.WantRows() {
		b.Enforce(x.LC(b), x.LC(b), c.LC(b))
	}
	return c
}

// AssertNonzero allocates the inverse i of x with [x] * [i] = [1]. With a zero x it gives ErrZero; the assignment then
// does not satisfy the system.
func AssertNonzero(b *synth.Builder, x Num) error {
	var v fr.Element
	if b.HasValues() {
		v.Inverse(&x.Val)
	}
	i := Alloc(b, v)
	if b.WantRows() {
		b.Enforce(x.LC(b), i.LC(b), b.LC().AddVar(synth.One))
	}
	if b.HasValues() && x.Val.IsZero() {
		return ErrZero
	}
	return nil
}

// Equal enforces [x] * [1] = [y].
func Equal(b *synth.Builder, x, y Num) {
	if b.WantRows() {
		b.Enforce(x.LC(b), b.LC().AddVar(synth.One), y.LC(b))
	}
}

// Sum enforces [x + y] * [1] = [s].
func Sum(b *synth.Builder, x, y, s Num) {
	if b.WantRows() {
		b.Enforce(x.LC(b).AddVar(y.Var), b.LC().AddVar(synth.One), s.LC(b))
	}
}

// Add is x+y.
func Add(b *synth.Builder, x, y Num) Num {
	var v fr.Element
	if b.HasValues() {
		v.Add(&x.Val, &y.Val)
	}
	s := Alloc(b, v)
	Sum(b, x, y, s)
	return s
}

// Difference enforces [d + y] * [1] = [x].
func Difference(b *synth.Builder, x, y, d Num) { Sum(b, d, y, x) }

// Sub is x-y.
func Sub(b *synth.Builder, x, y Num) Num {
	var v fr.Element
	if b.HasValues() {
		v.Sub(&x.Val, &y.Val)
	}
	d := Alloc(b, v)
	Difference(b, x, y, d)
	return d
}

// Encode is the replica encoding value + key.
func Encode(b *synth.Builder, key, value Num) Num { return Add(b, key, value) }

// Decode undoes Encode.
func Decode(b *synth.Builder, key, value Num) Num { return Sub(b, value, key) }

// Pick is x where cond is true, y where it is false: [y - x] * [cond] = [y - c].
func Pick(b *synth.Builder, cond boolean.Bool, x, y Num) Num {
	v := y.Val
	if cond.Val {
		v = x.Val
	}
	c := Alloc(b, v)
	if b.WantRows() {
		b.Enforce(y.LC(b).SubVar(x.Var), cond.LC(b), y.LC(b).SubVar(c.Var))
	}
	return c
}

// ConditionallyReverse is (x, y), or (y, x) where cond is true.
func ConditionallyReverse(b *synth.Builder, x, y Num, cond boolean.Bool) (Num, Num) {
	c := Pick(b, cond, y, x)
	d := Pick(b, cond, x, y)
	return c, d
}
