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
func compressWords(b *synth.Builder, w *[16]boolean.Word, h *[8]boolean.Word) {
	var e emitter
	var x [64]uint32
	plain := e.schedule(w, &x)
	s := *h
	c := &compression{e: &e, w: &x, wc: plain, s: s}
	c.rounds()
	c.finish(h)
	b.AllocBitWords(e.buf[:], e.acc, e.full*64+int(e.pos))
}
