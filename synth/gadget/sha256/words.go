package sha256

import (
	"math/bits"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// Assign mode: values only, in words, with masks that say which bits are constants.

// Bit lengths of sums of two, four, and five to eight words.
const (
	sum2Bits = 33
	sum4Bits = 34
	sum8Bits = 35
)

func hashWords(b *synth.Builder, pieces []boolean.Vec, n int) boolean.Vec {
	m := newMessage(pieces, n)
	h := make([]boolean.Word, 8)
	for i := range h {
		h[i] = constWord(iv[i])
	}
	blocks := (n + 1 + 64 + blockBits - 1) / blockBits
	var w [16]boolean.Word
	for i := 0; i < blocks; i++ {
		m.fill(&w)
		if i == blocks-1 {
			w[14], w[15] = constWord(uint32(uint64(n)>>32)), constWord(uint32(n))
		}
		compressWords(b, &w, (*[8]boolean.Word)(h))
	}
	return boolean.FromWords(h, stateBits)
}

func constWord(v uint32) boolean.Word { return boolean.Word{V: v, C: ^uint32(0)} }

// message gives the words of pieces, then the padding without the length.
type message struct {
	pieces []boolean.Vec
	at     int // in pieces[0]
	word   int
	end    int // index of the word that holds the first padding bit
	rest   int // message bits in that word
}

func newMessage(pieces []boolean.Vec, n int) *message {
	for _, p := range pieces[:max(0, len(pieces)-1)] {
		if p.Len()&31 != 0 {
			pieces = []boolean.Vec{boolean.Concat(pieces...)}
			break
		}
	}
	return &message{pieces: pieces, end: n >> 5, rest: n & 31}
}

func (m *message) fill(w *[16]boolean.Word) {
	k := 0
	for k < 16 && len(m.pieces) > 0 {
		p := m.pieces[0].Words()
		c := copy(w[k:], p[m.at:])
		k += c
		if m.at += c; m.at == len(p) {
			m.pieces, m.at = m.pieces[1:], 0
		}
	}
	for ; k < 16; k++ {
		w[k] = constWord(0)
	}
	if i := m.end - m.word; i >= 0 && i < 16 {
		w[i].V |= 1 << 31 >> m.rest
		w[i].C |= ^uint32(0) >> m.rest
	}
	m.word += 16
}

// compressWords is one compression; h is the state before and after.
func compressWords(b *synth.Builder, block *[16]boolean.Word, h *[8]boolean.Word) {
	var e emitter
	var w [64]boolean.Word
	copy(w[:], block[:])
	e.schedule(&w)
	r := rounds{b: h[1], c: h[2], d: h[3], f: h[5], g: h[6], h: h[7]}
	i := 0
	for ; i < len(w) && !(i > 0 && r.plain()); i++ {
		r.mixed(&e, h, i, w[i])
	}
	r.rest(&e, &w, i)
	r.finish(&e, h)
	n := e.full*64 + int(e.pos)
	e.buf[e.full] = e.acc
	b.AllocBitWords(e.buf[:(n+63)/64], n)
}

func isPlain(w boolean.Word) bool { return w.C|w.N == 0 }

// schedule extends the 16 words of a block.
func (e *emitter) schedule(w *[64]boolean.Word) {
	for i := 16; i < 64; i++ {
		s0 := e.sigma0(w[i-15])
		s1 := e.sigma1(w[i-2])
		w[i].V = w[i-16].V + s0.V + w[i-7].V + s1.V
		if w[i-16].C&s0.C&w[i-7].C&s1.C == ^uint32(0) {
			w[i].C = ^uint32(0)
			continue
		}
		e.put(uint64(w[i-16].V)+uint64(s0.V)+uint64(w[i-7].V)+uint64(s1.V), sum4Bits)
	}
}

// sigma0 and sigma1 emit 32 bits of the first exclusive or and of the second those to which the shift has not brought a
// constant zero.

func (e *emitter) sigma0(w boolean.Word) boolean.Word {
	if !isPlain(w) {
		return e.xor3(rotr(w, 7), rotr(w, 18), shr(w, 3))
	}
	t := bits.RotateLeft32(w.V, -7) ^ bits.RotateLeft32(w.V, -18)
	v := t ^ w.V>>3
	e.put(uint64(t)|uint64(v<<3)<<29, 61)
	return boolean.Word{V: v}
}

func (e *emitter) sigma1(w boolean.Word) boolean.Word {
	if !isPlain(w) {
		return e.xor3(rotr(w, 17), rotr(w, 19), shr(w, 10))
	}
	t := bits.RotateLeft32(w.V, -17) ^ bits.RotateLeft32(w.V, -19)
	v := t ^ w.V>>10
	e.put(uint64(t)|uint64(v<<10)<<22, 54)
	return boolean.Word{V: v}
}

// rounds is the state between rounds: a and e are sums not formed yet.
type rounds struct {
	a, e             deferredSum
	b, c, d, f, g, h boolean.Word
}

type deferredSum struct {
	sum uint64
	c   uint32 // bits in which every operand is constant
}

func (d *deferredSum) add(w boolean.Word) {
	d.sum += uint64(w.V)
	d.c &= w.C
}

// force emits the sum unless all of it is constant.
func (d *deferredSum) force(e *emitter) boolean.Word {
	if d.c == ^uint32(0) {
		return constWord(uint32(d.sum))
	}
	e.put(d.sum, sum8Bits)
	return boolean.Word{V: uint32(d.sum)}
}

// plain says whether no constant or negation is left, which remains so.
func (r *rounds) plain() bool {
	m := r.b.C | r.c.C | r.d.C | r.f.C | r.g.C | r.h.C | r.b.N | r.c.N | r.d.N | r.f.N | r.g.N | r.h.N
	return m == 0 && r.a.c != ^uint32(0) && r.e.c != ^uint32(0)
}

// mixed is round i with any kinds of words. h is the state that the compression started from.
func (r *rounds) mixed(em *emitter, h *[8]boolean.Word, i int, w boolean.Word) {
	e := h[4]
	if i > 0 {
		e = r.e.force(em)
	}
	s1 := em.xor3(rotr(e, 6), rotr(e, 11), rotr(e, 25))
	ch := em.ch(e, r.f, r.g)
	a := h[0]
	if i > 0 {
		a = r.a.force(em)
	}
	s0 := em.xor3(rotr(a, 2), rotr(a, 13), rotr(a, 22))
	mj := em.maj(a, r.b, r.c)
	t := deferredSum{sum: uint64(roundK[i]), c: ^uint32(0)}
	for _, x := range [4]boolean.Word{r.h, s1, ch, w} {
		t.add(x)
	}
	r.e, r.a = t, t
	r.e.add(r.d)
	r.a.add(s0)
	r.a.add(mj)
	r.h, r.g, r.f = r.g, r.f, e
	r.d, r.c, r.b = r.c, r.b, a
}

// rest is the rounds from i on, of variables alone.
func (r *rounds) rest(em *emitter, w *[64]boolean.Word, i int) {
	b, c, d, f, g, h := r.b.V, r.c.V, r.d.V, r.f.V, r.g.V, r.h.V
	sa, se := r.a.sum, r.e.sum
	from := i
	for ; i < 64; i++ {
		em.put(se, sum8Bits)
		e := uint32(se)
		x := bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11)
		s1 := x ^ bits.RotateLeft32(e, -25)
		em.put64(uint64(x) | uint64(s1)<<32)
		ch := e&f ^ ^e&g
		em.put(uint64(ch)|sa<<32, 32+32)
		em.put(sa>>32, sum8Bits-32)
		a := uint32(sa)
		y := bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13)
		s0 := y ^ bits.RotateLeft32(a, -22)
		em.put64(uint64(y) | uint64(s0)<<32)
		bc := b & c
		mj := a&(b|c) | bc
		em.put64(spread(mj) | spread(bc)<<1)
		t := uint64(h) + uint64(s1) + uint64(ch) + uint64(roundK[i]) + uint64(w[i].V)
		se, sa = t+uint64(d), t+uint64(s0)+uint64(mj)
		h, g, f = g, f, e
		d, c, b = c, b, a
	}
	if from == 64 {
		return
	}
	r.a, r.e = deferredSum{sum: sa}, deferredSum{sum: se}
	r.b, r.c, r.d = boolean.Word{V: b}, boolean.Word{V: c}, boolean.Word{V: d}
	r.f, r.g, r.h = boolean.Word{V: f}, boolean.Word{V: g}, boolean.Word{V: h}
}

// finish adds the state that the compression started from.
func (r *rounds) finish(e *emitter, h *[8]boolean.Word) {
	r.a.add(h[0])
	h[0] = r.a.force(e)
	h[1] = e.sum2(h[1], r.b)
	h[2] = e.sum2(h[2], r.c)
	h[3] = e.sum2(h[3], r.d)
	r.e.add(h[4])
	h[4] = r.e.force(e)
	h[5] = e.sum2(h[5], r.f)
	h[6] = e.sum2(h[6], r.g)
	h[7] = e.sum2(h[7], r.h)
}

func (e *emitter) sum2(x, y boolean.Word) boolean.Word {
	if x.C&y.C == ^uint32(0) {
		return constWord(x.V + y.V)
	}
	s := uint64(x.V) + uint64(y.V)
	e.put(s, sum2Bits)
	return boolean.Word{V: uint32(s)}
}
