// Package uint32 is the gadget of 32-bit words: rotation, bitwise operations and addition modulo 2^32, a Boolean for each
// bit. SHA-256 uses it in Shape and Direct mode; in Assign mode it works but package sha256 has a faster way.
//
// Import it under another name (u32): its own hides the predeclared type.
package uint32

import (
	"math/bits"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/multieq"
)

// UInt32 is a word, least significant bit first.
type UInt32 [32]boolean.Bool

// Const is a constant word. It emits nothing.
func Const(v uint32) UInt32 {
	var x UInt32
	for i := range x {
		x[i] = boolean.Const(v>>i&1 == 1)
	}
	return x
}

// Alloc allocates the bits of v, least significant first, each with its row.
func Alloc(b *synth.Builder, v uint32) UInt32 {
	var x UInt32
	for i := range x {
		x[i] = boolean.Alloc(b, v>>i&1 == 1)
	}
	return x
}

// FromBitsBE makes a word of 32 Booleans, most significant first.
func FromBitsBE(be []boolean.Bool) UInt32 {
	var x UInt32
	for i := range x {
		x[i] = be[31-i]
	}
	return x
}

// BitsBE are the bits of x, most significant first.
func (x *UInt32) BitsBE() []boolean.Bool {
	be := make([]boolean.Bool, 32)
	for i := range x {
		be[31-i] = x[i]
	}
	return be
}

// Value is the number that x holds; meaningless in Shape mode unless x is constant.
func (x *UInt32) Value() uint32 {
	v := uint32(0)
	for i := range x {
		if x[i].Val {
			v |= 1 << i
		}
	}
	return v
}

// IsConst says whether every bit is constant.
func (x *UInt32) IsConst() bool {
	for i := range x {
		if !x[i].IsConst() {
			return false
		}
	}
	return true
}

// Rotr is x rotated right by n. It emits nothing.
func (x *UInt32) Rotr(n int) (r UInt32) {
	for i := range r {
		r[i] = x[(i+n)&31]
	}
	return r
}

// Shr is x shifted right by n, with constant zeros. It emits nothing.
func (x *UInt32) Shr(n int) (r UInt32) {
	for i := range r {
		if i+n < 32 {
			r[i] = x[i+n]
		} else {
			r[i] = boolean.Const(false)
		}
	}
	return r
}

// Xor is bitwise x ^ y.
func Xor(b *synth.Builder, x, y *UInt32) (r UInt32) {
	for i := range r {
		r[i] = boolean.Xor(b, x[i], y[i])
	}
	return r
}

// Ch is bitwise choice.
func Ch(b *synth.Builder, x, y, z *UInt32) (r UInt32) {
	for i := range r {
		r[i] = boolean.Ch(b, x[i], y[i], z[i])
	}
	return r
}

// Maj is bitwise majority.
func Maj(b *synth.Builder, x, y, z *UInt32) (r UInt32) {
	for i := range r {
		r[i] = boolean.Maj(b, x[i], y[i], z[i])
	}
	return r
}

// AddMany is the sum of 2 to 10 operands modulo 2^32. The equality goes to m. The carries are allocated and dropped.
func AddMany(m *multieq.MultiEq, ops ...UInt32) (r UInt32) {
	b := m.Builder()
	sum, constant := uint64(0), true
	for i := range ops {
		sum += uint64(ops[i].Value())
		constant = constant && ops[i].IsConst()
	}
	if constant {
		return Const(uint32(sum))
	}
	n := bits.Len64(uint64(len(ops)) * (1<<32 - 1))
	var t [36]boolean.Bool
	for i := range t[:n] {
		t[i] = boolean.Alloc(b, sum>>i&1 == 1)
	}
	copy(r[:], t[:])
	if !b.WantRows() {
		return r
	}
	m.Begin(n)
	for j := range ops {
		for i := range ops[j] {
			m.Left(ops[j][i], i)
		}
	}
	for i := range t[:n] {
		m.Right(t[i], i)
	}
	return r
}
