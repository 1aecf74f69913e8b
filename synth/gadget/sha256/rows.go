package sha256

import (
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/multieq"
	u32 "github.com/filgroth/filgroth/synth/gadget/uint32"
)

// The modes that make rows: a Boolean for each bit.

func hashRows(b *synth.Builder, pieces []boolean.Vec, n int) boolean.Vec {
	blocks := (n + 1 + 64 + blockBits - 1) / blockBits
	msg := make([]boolean.Bool, 0, blocks*blockBits)
	for _, p := range pieces {
		msg = append(msg, p.Bools()...)
	}
	msg = append(msg, boolean.Const(true))
	for len(msg) < blocks*blockBits-64 {
		msg = append(msg, boolean.Const(false))
	}
	for i := 63; i >= 0; i-- {
		msg = append(msg, boolean.Const(uint64(n)>>i&1 == 1))
	}
	var h [8]u32.UInt32
	for i := range h {
		h[i] = u32.Const(iv[i])
	}
	for ; len(msg) > 0; msg = msg[blockBits:] {
		h = compressRows(b, msg[:blockBits], h)
	}
	return vec(b, &h)
}

// words reads h0..h7 from 256 bits.
func words(bits []boolean.Bool) (h [8]u32.UInt32) {
	for i := range h {
		h[i] = u32.FromBitsBE(bits[32*i : 32*i+32])
	}
	return h
}

// vec is the inverse of words.
func vec(b *synth.Builder, h *[8]u32.UInt32) boolean.Vec {
	bits := make([]boolean.Bool, 0, stateBits)
	for i := range h {
		bits = append(bits, h[i].BitsBE()...)
	}
	return boolean.Of(b, bits)
}

// pattern is the kind (two bits) of each input of a compression: with it two blocks have the same rows.
type pattern [(blockBits + stateBits) / 4]byte

// compressRows is one compression, as a block that recurs.
func compressRows(b *synth.Builder, block []boolean.Bool, h [8]u32.UInt32) [8]u32.UInt32 {
	var key pattern
	wires := make([]synth.Var, 0, blockBits+stateBits)
	at := 0
	note := func(x *boolean.Bool) {
		key[at>>2] |= byte(x.Kind) << (at & 3 * 2)
		at++
		if !x.IsConst() {
			wires = append(wires, x.Var)
		}
	}
	for i := range block {
		note(&block[i])
	}
	for i := range h {
		for j := range h[i] {
			note(&h[i][j])
		}
	}
	ran := false
	out := b.Block(key, wires, func() []synth.Wire {
		h, ran = compress(b, block, &h), true
		res := make([]synth.Wire, 0, stateBits)
		for i := range h {
			res = append(res, boolean.Wires(h[i][:])...)
		}
		return res
	})
	if !ran {
		for i := range h {
			for j := range h[i] {
				h[i][j] = boolean.FromWire(out[32*i+j], false)
			}
		}
	}
	return h
}

// deferred is a sum of words that is formed where its value is first needed.
type deferred struct {
	word u32.UInt32
	ops  []u32.UInt32
}

func (d *deferred) force(m *multieq.MultiEq, extra ...u32.UInt32) u32.UInt32 {
	if d.ops == nil {
		return d.word
	}
	return u32.AddMany(m, append(d.ops, extra...)...)
}

func compress(b *synth.Builder, block []boolean.Bool, h *[8]u32.UInt32) [8]u32.UInt32 {
	m := multieq.New(b)
	w := schedule(b, m, block)
	A, B, C, D := deferred{word: h[0]}, h[1], h[2], h[3]
	E, F, G, H := deferred{word: h[4]}, h[5], h[6], h[7]
	for i := range w {
		e := E.force(m)
		s1 := sum3(b, e.Rotr(6), e.Rotr(11), e.Rotr(25))
		ch := u32.Ch(b, &e, &F, &G)
		t1 := []u32.UInt32{H, s1, ch, u32.Const(roundK[i]), w[i]}
		a := A.force(m)
		s0 := sum3(b, a.Rotr(2), a.Rotr(13), a.Rotr(22))
		mj := u32.Maj(b, &a, &B, &C)
		H, G, F = G, F, e
		E = deferred{ops: append(t1[:5:5], D)}
		D, C, B = C, B, a
		A = deferred{ops: append(t1[:5:5], s0, mj)}
	}
	out := [8]u32.UInt32{0: A.force(m, h[0])}
	out[1] = u32.AddMany(m, h[1], B)
	out[2] = u32.AddMany(m, h[2], C)
	out[3] = u32.AddMany(m, h[3], D)
	out[4] = E.force(m, h[4])
	out[5] = u32.AddMany(m, h[5], F)
	out[6] = u32.AddMany(m, h[6], G)
	out[7] = u32.AddMany(m, h[7], H)
	m.Flush()
	return out
}

func schedule(b *synth.Builder, m *multieq.MultiEq, block []boolean.Bool) *[64]u32.UInt32 {
	w := new([64]u32.UInt32)
	for j := 0; j < 16; j++ {
		w[j] = u32.FromBitsBE(block[32*j : 32*j+32])
	}
	for i := 16; i < 64; i++ {
		s0 := sum3(b, w[i-15].Rotr(7), w[i-15].Rotr(18), w[i-15].Shr(3))
		s1 := sum3(b, w[i-2].Rotr(17), w[i-2].Rotr(19), w[i-2].Shr(10))
		w[i] = u32.AddMany(m, w[i-16], s0, w[i-7], s1)
	}
	return w
}

func sum3(b *synth.Builder, x, y, z u32.UInt32) u32.UInt32 {
	t := u32.Xor(b, &x, &y)
	return u32.Xor(b, &t, &z)
}
