package num

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// fieldBits is the bit length of the field's modulus.
const fieldBits = fr.Bits

type decomposition uint8

const (
	packedRow decomposition = iota // [] * [] = [sum - n]
	equalRow                       // [sum] * [1] = [n]
)

// ToBitsLE allocates the 255 bits of n, least significant first, each with its row, then [] * [] = [sum 2^i b_i - n]. It
// does not make them the canonical bits: the sum may also be n plus the modulus. The values are canonical.
func (n Num) ToBitsLE(b *synth.Builder) boolean.Vec { return n.decompose(b, packedRow) }

// AllocatedNumToAllocatedBits is ToBitsLE with the last row written as [sum 2^i b_i] * [1] = [n] (sector update circuit).
func AllocatedNumToAllocatedBits(b *synth.Builder, n Num) boolean.Vec {
	return n.decompose(b, equalRow)
}

func (n Num) decompose(b *synth.Builder, kind decomposition) boolean.Vec {
	if b.Mode() == synth.Assign {
		return FieldIntoAllocatedBitsLE(b, n.Val)
	}
	var out boolean.Vec
	wires := b.Block(kind, []synth.Var{n.Var}, func() []synth.Wire {
		out = FieldIntoAllocatedBitsLE(b, n.Val)
		l := b.LC()
		for i, x := range out.Bools() {
			x.AddTo(l, pow2[i])
		}
		if kind == packedRow {
			b.Enforce(nil, nil, l.SubVar(n.Var))
		} else {
			b.Enforce(l, b.LC().AddVar(synth.One), n.LC(b))
		}
		return boolean.Wires(out.Bools())
	})
	return boolean.FromWires(b, wires, out)
}

// FieldIntoAllocatedBitsLE allocates the 255 bits of the canonical v, least significant first, each with its row.
func FieldIntoAllocatedBitsLE(b *synth.Builder, v fr.Element) boolean.Vec {
	limbs := v.Bits()
	return boolean.AllocLE(b, limbs[:], fieldBits)
}

// ToBitsLEStrict is ToBitsLE with the bits made canonical. No Filecoin circuit uses it.
func (n Num) ToBitsLEStrict(b *synth.Builder) []boolean.Bool {
	v := n.Val.Bits()
	var top fr.Element
	top.SetInt64(-1)
	c := top.Bits() // r - 1
	out := make([]boolean.Bool, fieldBits)
	var last *boolean.Bool
	var run []boolean.Bool
	for i := fieldBits - 1; i >= 0; i-- {
		bit := v[i>>6]>>(i&63)&1 == 1
		if c[i>>6]>>(i&63)&1 == 1 {
			out[i] = boolean.Alloc(b, bit)
			run = append(run, out[i])
			continue
		}
		if len(run) > 0 {
			if last != nil {
				run = append(run, *last)
			}
			x := run[0]
			for _, y := range run[1:] {
				x = boolean.And(b, x, y)
			}
			last, run = &x, run[:0]
		}
		out[i] = boolean.AllocConditionally(b, bit, *last)
	}
	if b.WantRows() {
		l := b.LC()
		for i, x := range out {
			x.AddTo(l, pow2[i])
		}
		b.Enforce(nil, nil, l.SubVar(n.Var))
	}
	return out
}

var pow2 = func() (p [fieldBits + 1]fr.Element) {
	p[0].SetOne()
	for i := 1; i < len(p); i++ {
		p[i].Double(&p[i-1])
	}
	return
}()
