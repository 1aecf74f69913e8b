// Package insertion is the gadget of choosing by allocated bits: one of two, one of a row, and the insertion of an element
// into a row of siblings at an allocated position, the step of a Merkle path.
//
// The multiplexers for rows of 2, 4 and 8 are the hand-made ones of the deployed circuits; their rows must not be improved.
package insertion

import (
	"fmt"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/num"
)

// Select allocates from[i] where i is given by bits, least significant first; len(from) must be 2^len(bits).
func Select(b *synth.Builder, from []num.Num, bits []boolean.Bool) num.Num {
	if len(from) != 1<<len(bits) {
		panic(fmt.Sprintf("insertion: %d bits select from %d", len(bits), len(from)))
	}
	state := append(make([]num.Num, 0, len(from)), from...)
	for i := len(bits) - 1; i >= 0; i-- {
		half := len(state) / 2
		for j := 0; j < half; j++ {
			state[j] = num.Pick(b, bits[i], state[half+j], state[j])
		}
		state = state[:half]
	}
	return state[0]
}

// Insert writes to dst the row of siblings with el inserted at the position that bits give, least significant first. dst has
// one element more than siblings, a power of two, and may not overlap it. Bits must be allocated, not constant.
func Insert(b *synth.Builder, dst []num.Num, el num.Num, bits []boolean.Bool, siblings []num.Num) {
	if len(dst) != 1<<len(bits) || len(siblings) != len(dst)-1 {
		panic(fmt.Sprintf("insertion: row of %d, %d bits, %d siblings", len(dst), len(bits), len(siblings)))
	}
	switch len(bits) {
	case 1:
		dst[0] = num.Pick(b, bits[0], siblings[0], el)
		dst[1] = num.Pick(b, bits[0], el, siblings[0])
	case 2:
		insert4(b, dst, el, bits, siblings)
	case 3:
		insert8(b, dst, el, bits, siblings)
	default:
		insertAny(b, dst, el, bits, siblings)
	}
}

func insert4(b *synth.Builder, dst []num.Num, el num.Num, bits []boolean.Bool, s []num.Num) {
	b0, b1 := bits[0], bits[1]
	t := num.Pick(b, b0, s[0], el)
	dst[0] = num.Pick(b, b1, s[0], t)
	t = num.Pick(b, b0, el, s[0])
	dst[1] = num.Pick(b, b1, s[1], t)
	t = num.Pick(b, b0, s[2], el)
	dst[2] = num.Pick(b, b1, t, s[1])
	t = num.Pick(b, b0, el, s[2])
	dst[3] = num.Pick(b, b1, t, s[2])
}

func insert8(b *synth.Builder, dst []num.Num, el num.Num, bits []boolean.Bool, s []num.Num) {
	b0, b1, b2 := bits[0], bits[1], bits[2]
	neither := boolean.And(b, b0.Not(), b1.Not())
	both := boolean.And(b, b0, b1)
	t := num.Pick(b, neither, el, s[0])
	dst[0] = num.Pick(b, b2, s[0], t)
	t = num.Pick(b, b0, el, s[0])
	t = num.Pick(b, b1, s[1], t)
	dst[1] = num.Pick(b, b2, s[1], t)
	t = num.Pick(b, b0, s[2], el)
	t = num.Pick(b, b1, t, s[1])
	dst[2] = num.Pick(b, b2, s[2], t)
	t = num.Pick(b, both, el, s[2])
	dst[3] = num.Pick(b, b2, s[3], t)
	t = num.Pick(b, neither, el, s[4])
	dst[4] = num.Pick(b, b2, t, s[3])
	t = num.Pick(b, b0, el, s[4])
	t = num.Pick(b, b1, s[5], t)
	dst[5] = num.Pick(b, b2, t, s[4])
	t = num.Pick(b, b0, s[6], el)
	t = num.Pick(b, b1, t, s[5])
	dst[6] = num.Pick(b, b2, t, s[5])
	t = num.Pick(b, both, el, s[6])
	dst[7] = num.Pick(b, b2, t, s[6])
}

// insertAny selects every element of the row among its candidates for each position of el.
func insertAny(b *synth.Builder, dst []num.Num, el num.Num, bits []boolean.Bool, s []num.Num) {
	from := make([]num.Num, len(dst))
	for pos := range dst {
		for at := range from {
			switch {
			case at > pos:
				from[at] = s[pos]
			case at == pos:
				from[at] = el
			default:
				from[at] = s[pos-1]
			}
		}
		dst[pos] = Select(b, from, bits)
	}
}
