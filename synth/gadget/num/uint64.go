package num

import (
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// UInt64 is an integer of 64 Booleans, least significant first.
type UInt64 struct {
	LE  boolean.Vec
	Val uint64
}

// AllocUInt64 allocates the bits of v, least significant first, each with its row.
func AllocUInt64(b *synth.Builder, v uint64) UInt64 {
	return UInt64{boolean.AllocLE(b, []uint64{v}, 64), v}
}

// ConstUInt64 is a constant.
func ConstUInt64(b *synth.Builder, v uint64) UInt64 {
	le := make([]boolean.Bool, 64)
	for i := range le {
		le[i] = boolean.Const(v>>i&1 == 1)
	}
	return UInt64{boolean.Of(b, le), v}
}

// BitsBE are the bits, most significant first: the order in which they enter a hash.
func (x UInt64) BitsBE(b *synth.Builder) boolean.Vec {
	le := x.LE.Bools()
	be := make([]boolean.Bool, len(le))
	for i := range be {
		be[i] = le[len(le)-1-i]
	}
	return boolean.Of(b, be)
}
