// Package multipack packs Booleans into field elements, 254 to one, as public inputs or as aux variables.
package multipack

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/num"
)

// Capacity is how many bits every field element can carry.
const Capacity = 254

// Compute packs bits into field elements (Montgomery), 254 each, the first bit least significant: the public inputs that
// PackIntoInputs makes.
func Compute(bits []bool) []fr.Element {
	var out []fr.Element
	for len(bits) > 0 {
		n := min(len(bits), Capacity)
		var limbs fr.Element
		for i, x := range bits[:n] {
			if x {
				limbs[i>>6] |= 1 << (i & 63)
			}
		}
		out = append(out, fromCanonical(limbs))
		bits = bits[n:]
	}
	return out
}

// PackIntoInputs makes a public input of each 254 bits x: [sum 2^i x_i] * [1] = [input]. Without bits it emits nothing.
func PackIntoInputs(b *synth.Builder, v boolean.Vec) {
	for at := 0; at < v.Len(); at += Capacity {
		part := v.Slice(at, min(at+Capacity, v.Len()))
		x := num.AllocInput(b, value(b, part))
		enforce(b, part, x)
	}
}

// PackBits makes an aux variable of the first 254 bits: [sum 2^i x_i] * [1] = [n].
func PackBits(b *synth.Builder, v boolean.Vec) num.Num {
	v = v.Slice(0, min(Capacity, v.Len()))
	n := num.Alloc(b, value(b, v))
	enforce(b, v, n)
	return n
}

func enforce(b *synth.Builder, v boolean.Vec, n num.Num) {
	if !b.WantRows() {
		return
	}
	l := b.LC()
	for i, x := range v.Bools() {
		x.AddTo(l, pow2[i])
	}
	b.Enforce(l, b.LC().AddVar(synth.One), n.LC(b))
}

// value is the field element that at most 254 bits make.
func value(b *synth.Builder, v boolean.Vec) fr.Element {
	var limbs fr.Element
	switch b.Mode() {
	case synth.Assign:
		for i, w := range v.Words() {
			limbs[i>>1] |= uint64(bits.Reverse32(w.V)) << (32 * (i & 1))
		}
	case synth.Direct:
		for i, x := range v.Bools() {
			if x.Val {
				limbs[i>>6] |= 1 << (i & 63)
			}
		}
	}
	return fromCanonical(limbs)
}

// fromCanonical converts a number below 2^254, given as plain limbs, to Montgomery form.
func fromCanonical(x fr.Element) fr.Element {
	return *x.Mul(&x, &rSquare)
}

// rSquare is 2^512 modulo r as plain limbs, the Montgomery form of 2^256.
var rSquare = func() fr.Element {
	x := fr.One()
	for i := 0; i < 256; i++ {
		x.Double(&x)
	}
	return x
}()

var pow2 = func() (p [Capacity]fr.Element) {
	p[0].SetOne()
	for i := 1; i < len(p); i++ {
		p[i].Double(&p[i-1])
	}
	return
}()

// ReverseBitNumbering appends constant false up to a multiple of 8 and reverses each group of 8. For a Vec use its method.
func ReverseBitNumbering(x []boolean.Bool) []boolean.Bool {
	n := (len(x) + 7) &^ 7
	r := make([]boolean.Bool, n)
	for i := range r {
		if j := i ^ 7; j < len(x) {
			r[i] = x[j]
		} else {
			r[i] = boolean.Const(false)
		}
	}
	return r
}

// BytesToBits are the bits of data, most significant of each byte first.
func BytesToBits(data []byte) []bool {
	out := make([]bool, 8*len(data))
	for i := range out {
		out[i] = data[i>>3]>>(7-i&7)&1 == 1
	}
	return out
}

// BytesToBitsLE are the bits of data, least significant of each byte first.
func BytesToBitsLE(data []byte) []bool {
	out := make([]bool, 8*len(data))
	for i := range out {
		out[i] = data[i>>3]>>(i&7)&1 == 1
	}
	return out
}
