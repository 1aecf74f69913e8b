package porep

import (
	"encoding/binary"
	"math/bits"
)

// chacha8 is the keystream of ChaCha with eight rounds, a 64-bit block counter from zero and a zero nonce, read as little-endian
// 64-bit words: the random number generator of the DRG sampling.
type chacha8 struct {
	key     [8]uint32
	counter uint64
	block   [16]uint32
	used    int // words of block
}

func newChaCha8(key *[32]byte) chacha8 {
	c := chacha8{used: 16}
	for i := range c.key {
		c.key[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	return c
}

func (c *chacha8) next() uint64 {
	if c.used == 16 {
		c.refill()
	}
	v := uint64(c.block[c.used]) | uint64(c.block[c.used+1])<<32
	c.used += 2
	return v
}

func (c *chacha8) refill() {
	in := [16]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}
	copy(in[4:], c.key[:])
	in[12], in[13] = uint32(c.counter), uint32(c.counter>>32)
	x := in
	for round := 0; round < 8; round += 2 {
		quarter(&x, 0, 4, 8, 12)
		quarter(&x, 1, 5, 9, 13)
		quarter(&x, 2, 6, 10, 14)
		quarter(&x, 3, 7, 11, 15)
		quarter(&x, 0, 5, 10, 15)
		quarter(&x, 1, 6, 11, 12)
		quarter(&x, 2, 7, 8, 13)
		quarter(&x, 3, 4, 9, 14)
	}
	for i := range x {
		c.block[i] = x[i] + in[i]
	}
	c.counter++
	c.used = 0
}

func quarter(x *[16]uint32, a, b, c, d int) {
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 16)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 12)
	x[a] += x[b]
	x[d] = bits.RotateLeft32(x[d]^x[a], 8)
	x[c] += x[d]
	x[b] = bits.RotateLeft32(x[b]^x[c], 7)
}
