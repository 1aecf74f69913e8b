package boolean

import (
	"math/bits"

	"github.com/filgroth/filgroth/synth"
)

// Word is 32 Booleans of a Vec in Assign mode: V their values, C which are constants, N which are negations of
// variables. C and N do not overlap.
type Word struct{ V, C, N uint32 }

// Vec is a sequence of Booleans. In Assign mode it is packed, 32 to a Word with the first one most significant (the
// order in which SHA-256 reads a message); in the other modes it is a []Bool. A Vec is immutable and may share storage
// with those it was made from. The zero Vec is empty and belongs to every mode.
type Vec struct {
	n     int
	bits  []Bool
	words []Word
}

// Of makes a Vec of bits, sharing them where it can.
func Of(b *synth.Builder, bits []Bool) Vec {
	if b.Mode() != synth.Assign {
		return Vec{n: len(bits), bits: bits}
	}
	w := make([]Word, (len(bits)+31)/32)
	for i := range bits {
		w[i>>5].set(31-i&31, &bits[i])
	}
	return Vec{n: len(bits), words: w}
}

func (w *Word) set(at int, x *Bool) {
	if x.Val {
		w.V |= 1 << at
	}
	switch x.Kind {
	case synth.Negated:
		w.N |= 1 << at
	case synth.ConstFalse, synth.ConstTrue:
		w.C |= 1 << at
	}
}

func (w Word) get(at int) Bool {
	x := Bool{Val: w.V>>at&1 == 1}
	switch {
	case w.C>>at&1 == 0:
		x.Kind = synth.WireKind(w.N >> at & 1)
	case x.Val:
		x.Kind = synth.ConstTrue
	default:
		x.Kind = synth.ConstFalse
	}
	return x
}

// FromWords makes a Vec of n Booleans for Assign mode and keeps w. What lies in w beyond n must be zero.
func FromWords(w []Word, n int) Vec { return Vec{n: n, words: w} }

// Constants are the bits of data, most significant of each byte first, as constants. They emit nothing.
func Constants(b *synth.Builder, data []byte) Vec {
	if b.Mode() == synth.Assign {
		v := Vec{n: 8 * len(data), words: packBytes(data)}
		for i := range v.words {
			v.words[i].C = ^uint32(0)
		}
		if r := v.n & 31; r != 0 {
			v.words[len(v.words)-1].C <<= 32 - r
		}
		return v
	}
	v := Vec{n: 8 * len(data), bits: make([]Bool, 8*len(data))}
	for i := range v.bits {
		v.bits[i] = Const(data[i>>3]>>(7-i&7)&1 == 1)
	}
	return v
}

// AllocBytes allocates the bits of data, most significant of each byte first, each with its row.
func AllocBytes(b *synth.Builder, data []byte) Vec {
	n := 8 * len(data)
	if b.Mode() == synth.Assign {
		w := packBytes(data)
		for i := range w {
			b.AllocBits(uint64(bits.Reverse32(w[i].V)), min(32, n-32*i))
		}
		return Vec{n: n, words: w}
	}
	v := Vec{n: n, bits: make([]Bool, n)}
	for i := range v.bits {
		v.bits[i] = Alloc(b, data[i>>3]>>(7-i&7)&1 == 1)
	}
	return v
}

func packBytes(data []byte) []Word {
	w := make([]Word, (len(data)+3)/4)
	for i, x := range data {
		w[i>>2].V |= uint32(x) << (24 - 8*(i&3))
	}
	return w
}

// AllocLE allocates bits 0..n-1 of the little-endian number limbs, least significant first, each with its row.
func AllocLE(b *synth.Builder, limbs []uint64, n int) Vec {
	if b.Mode() == synth.Assign {
		w := make([]Word, (n+31)/32)
		for i := 0; i < n; i += 64 {
			x, k := limbs[i>>6], min(64, n-i)
			if k < 64 {
				x &= 1<<k - 1
			}
			b.AllocBits(x, k)
			w[i>>5].V = bits.Reverse32(uint32(x))
			if k > 32 {
				w[i>>5+1].V = bits.Reverse32(uint32(x >> 32))
			}
		}
		return Vec{n: n, words: w}
	}
	v := Vec{n: n, bits: make([]Bool, n)}
	for i := range v.bits {
		v.bits[i] = Alloc(b, limbs[i>>6]>>(i&63)&1 == 1)
	}
	return v
}

// Len is the number of Booleans.
func (v Vec) Len() int { return v.n }

// At is the i-th Boolean. In Assign mode its Var is not set.
func (v Vec) At(i int) Bool {
	if v.words != nil {
		return v.words[i>>5].get(31 - i&31)
	}
	return v.bits[i]
}

// Bools are all of them, to be read only. In Assign mode this unpacks, and no Var is set.
func (v Vec) Bools() []Bool {
	if v.words == nil {
		return v.bits
	}
	x := make([]Bool, v.n)
	for i := range x {
		x[i] = v.At(i)
	}
	return x
}

// Words are the packed Booleans of a Vec in Assign mode, to be read only; nil in the other modes.
func (v Vec) Words() []Word { return v.words }

// Slice is v[i:j].
func (v Vec) Slice(i, j int) Vec {
	if v.words == nil {
		return Vec{n: j - i, bits: v.bits[i:j:j]}
	}
	w := make([]Word, (j-i+31)/32)
	q, s := i>>5, i&31
	for k := range w {
		w[k] = v.words[q+k].shl(s)
		if s != 0 && q+k+1 < len(v.words) {
			w[k] = w[k].or(v.words[q+k+1].shr(32 - s))
		}
	}
	if r := (j - i) & 31; r != 0 {
		m := ^uint32(0) << (32 - r)
		l := &w[len(w)-1]
		l.V, l.C, l.N = l.V&m, l.C&m, l.N&m
	}
	return Vec{n: j - i, words: w}
}

// Concat is all of vs in order, which must belong to the same mode.
func Concat(vs ...Vec) Vec {
	n, packed := 0, false
	for _, v := range vs {
		n += v.n
		packed = packed || v.words != nil
	}
	if !packed {
		r := make([]Bool, 0, n)
		for _, v := range vs {
			r = append(r, v.bits...)
		}
		return Vec{n: n, bits: r}
	}
	w := make([]Word, (n+31)/32)
	at := 0
	for _, v := range vs {
		q, s := at>>5, at&31
		for k, x := range v.words {
			w[q+k] = w[q+k].or(x.shr(s))
			if s != 0 && q+k+1 < len(w) {
				w[q+k+1] = w[q+k+1].or(x.shl(32 - s))
			}
		}
		at += v.n
	}
	return Vec{n: n, words: w}
}

func (w Word) shl(s int) Word { return Word{w.V << s, w.C << s, w.N << s} }
func (w Word) shr(s int) Word { return Word{w.V >> s, w.C >> s, w.N >> s} }
func (w Word) or(x Word) Word { return Word{w.V | x.V, w.C | x.C, w.N | x.N} }
func reverseBits8(x uint32) uint32 {
	x = x>>1&0x55555555 | x&0x55555555<<1
	x = x>>2&0x33333333 | x&0x33333333<<2
	return x>>4&0x0F0F0F0F | x&0x0F0F0F0F<<4
}

// ReverseBitNumbering appends constant false up to a multiple of 8 and reverses each group of 8: 255 little-endian bits
// become the 256 message bits, most significant of each byte first, of the 32-byte little-endian encoding.
func (v Vec) ReverseBitNumbering() Vec {
	n := (v.n + 7) &^ 7
	if v.words == nil {
		r := make([]Bool, n)
		for i := range r {
			if j := i ^ 7; j < v.n {
				r[i] = v.bits[j]
			} else {
				r[i] = Const(false)
			}
		}
		return Vec{n: n, bits: r}
	}
	w := make([]Word, len(v.words))
	for i, x := range v.words {
		w[i] = Word{reverseBits8(x.V), x.C, x.N}
		if i == len(w)-1 && n != v.n {
			x.C |= (1<<(n-v.n) - 1) << ((32 - n&31) & 31)
			w[i].C = x.C
		}
		if x.C|x.N != 0 {
			w[i].C, w[i].N = reverseBits8(x.C), reverseBits8(x.N)
		}
	}
	return Vec{n: n, words: w}
}
