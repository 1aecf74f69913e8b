package sha256

import (
	"math/bits"

	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// emitter gathers the bits of one compression, in order, for a single hand-over to the builder.
type emitter struct {
	acc  uint64
	pos  uint // bits in acc, below 64
	full int  // words stored
	buf  [416]uint64
}

// A compression of variables alone emits 26,166 bits; with constants it is less.

// put appends the low n <= 64 bits of v; the others must be zero.
func (e *emitter) put(v uint64, n uint) {
	e.acc |= v << (e.pos & 63)
	if e.pos+n >= 64 {
		e.buf[e.full] = e.acc
		e.full++
		e.acc = v >> (63 - e.pos&63) >> 1
	}
	e.pos = (e.pos + n) & 63
}

// put64 appends 64 bits.
func (e *emitter) put64(v uint64) {
	e.buf[e.full] = e.acc | v<<(e.pos&63)
	e.full++
	e.acc = v >> (63 - e.pos&63) >> 1
}

// some appends the bits of v where mask is set.
func (e *emitter) some(v, mask uint64) {
	for mask != 0 {
		s := uint(bits.TrailingZeros64(mask))
		n := uint(bits.TrailingZeros64(^(mask >> s)))
		e.put(v>>s&(1<<n-1), n)
		mask &^= (1<<n - 1) << s
	}
}

// spread puts bit i of x at 2i.
func spread(x uint32) uint64 {
	v := uint64(x)
	v = (v | v<<16) & 0x0000FFFF0000FFFF
	v = (v | v<<8) & 0x00FF00FF00FF00FF
	v = (v | v<<4) & 0x0F0F0F0F0F0F0F0F
	v = (v | v<<2) & 0x3333333333333333
	return (v | v<<1) & 0x5555555555555555
}

// The Boolean rules of package boolean on whole words. Each emits what the rules allocate, bit 0 first.

func rotr(w boolean.Word, n int) boolean.Word {
	return boolean.Word{V: bits.RotateLeft32(w.V, -n), C: bits.RotateLeft32(w.C, -n), N: bits.RotateLeft32(w.N, -n)}
}

func shr(w boolean.Word, n int) boolean.Word {
	return boolean.Word{V: w.V >> n, C: w.C>>n | ^(^uint32(0) >> n), N: w.N >> n}
}

// xor emits the variables' exclusive or, which is the value with negations taken off.
func (e *emitter) xor(x, y boolean.Word) boolean.Word {
	r := boolean.Word{V: x.V ^ y.V, C: x.C & y.C}
	r.N = (x.N ^ y.N ^ x.C&x.V ^ y.C&y.V) &^ r.C
	e.some(uint64(r.V^r.N), uint64(^(x.C | y.C)))
	return r
}

func (e *emitter) xor3(x, y, z boolean.Word) boolean.Word { return e.xor(e.xor(x, y), z) }

// and is x & y and where it allocates, without emitting. What it allocates is r.V.
func and(x, y boolean.Word) (r boolean.Word, where uint32) {
	r = boolean.Word{V: x.V & y.V, C: x.C&^x.V | y.C&^y.V | x.C&y.C}
	r.N = (x.C&x.V&y.N | y.C&y.V&x.N) &^ r.C
	return r, ^(x.C | y.C)
}

func not(x boolean.Word) boolean.Word { return boolean.Word{V: ^x.V, C: x.C, N: ^(x.N | x.C)} }

// choice gathers, bit by bit, the outcome of the first rule that applies.
type choice struct {
	r     boolean.Word
	emit  uint32 // values emitted
	where uint32
	left  uint32 // bits not decided yet
}

func (c *choice) take(mask uint32, r boolean.Word, emit, where uint32) {
	mask &= c.left
	c.left &^= mask
	c.r.V |= r.V & mask
	c.r.C |= r.C & mask
	c.r.N |= r.N & mask
	c.emit |= emit & mask
	c.where |= where & mask
}

// and takes x & y, notAnd its negation.
func (c *choice) and(mask uint32, x, y boolean.Word) {
	r, where := and(x, y)
	c.take(mask, r, r.V, where)
}

func (c *choice) notAnd(mask uint32, x, y boolean.Word) {
	r, where := and(x, y)
	c.take(mask, not(r), r.V, where)
}

func (e *emitter) ch(x, y, z boolean.Word) boolean.Word {
	v := x.V&y.V | ^x.V&z.V
	c := choice{left: ^uint32(0)}
	c.take(x.C&y.C&z.C, boolean.Word{V: v, C: ^uint32(0)}, 0, 0)
	c.take(x.C&^x.V, z, 0, 0)
	c.and(y.C&^y.V, not(x), z)
	c.and(z.C&^z.V, x, y)
	c.notAnd(z.C&z.V, x, not(y))
	c.notAnd(y.C&y.V, not(x), not(z))
	c.take(^uint32(0), boolean.Word{V: v}, v, ^uint32(0))
	e.some(uint64(c.emit), uint64(c.where))
	return c.r
}

func (e *emitter) maj(x, y, z boolean.Word) boolean.Word {
	v := x.V&y.V | x.V&z.V | y.V&z.V
	c := choice{left: ^uint32(0)}
	c.take(x.C&y.C&z.C, boolean.Word{V: v, C: ^uint32(0)}, 0, 0)
	c.and(x.C&^x.V, y, z)
	c.and(y.C&^y.V, x, z)
	c.and(z.C&^z.V, x, y)
	c.notAnd(z.C&z.V, not(x), not(y))
	c.notAnd(y.C&y.V, not(x), not(z))
	c.notAnd(x.C&x.V, not(y), not(z))
	second := c.left // where the majority is followed by y & z
	c.take(second, boolean.Word{V: v}, v, second)
	e.some(spread(c.emit)|spread(y.V&z.V&second)<<1, spread(c.where)|spread(second)<<1)
	return c.r
}
