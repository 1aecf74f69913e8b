// Package gnarksha is a SHA-256 circuit for gnark's frontend, without lookups or commitments: each bit a wire, as in the deployed
// Filecoin circuits. It exists to compare provers on one and the same bit-heavy witness; gnark's own gadget is smaller.
package gnarksha

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"

	"github.com/consensys/gnark/frontend"
)

// Circuit says that a message, its padding included, hashes to a digest given as two halves of 128 bits.
type Circuit struct {
	Digest  [2]frontend.Variable `gnark:",public"`
	Message []frontend.Variable  // bits, most significant of each byte first; a multiple of 512
}

// New is a blank circuit of so many blocks.
func New(blocks int) *Circuit { return &Circuit{Message: make([]frontend.Variable, 512*blocks)} }

// Assign gives the values for a message made up from a seed.
func Assign(blocks int, seed byte) *Circuit {
	data := make([]byte, 64*blocks-9)
	for i := range data {
		data[i] = byte(i)*167 + byte(i>>8) ^ seed
	}
	sum := sha256.Sum256(data)
	padded := append(append(data, 0x80), binary.BigEndian.AppendUint64(nil, uint64(len(data))*8)...)
	c := New(blocks)
	for i := range c.Message {
		c.Message[i] = padded[i/8] >> (7 - i%8) & 1
	}
	for i := range c.Digest {
		c.Digest[i] = new(big.Int).SetBytes(sum[16*i : 16*i+16])
	}
	return c
}

// word is 32 bits, least significant first.
type word [32]frontend.Variable

// Define implements frontend.Circuit.
func (c *Circuit) Define(api frontend.API) error {
	for _, b := range c.Message {
		api.AssertIsBoolean(b)
	}
	var h [8]word
	for i, v := range iv {
		h[i] = constant(v)
	}
	for at := 0; at < len(c.Message); at += 512 {
		var w [64]word
		for i := range 16 {
			for j := range 32 {
				w[i][j] = c.Message[at+32*i+31-j]
			}
		}
		compress(api, &h, &w)
	}
	for i := range c.Digest {
		var bits []frontend.Variable
		for j := 3; j >= 0; j-- {
			bits = append(bits, h[4*i+j][:]...)
		}
		api.AssertIsEqual(c.Digest[i], api.FromBinary(bits...))
	}
	return nil
}

func compress(api frontend.API, h *[8]word, w *[64]word) {
	for i := 16; i < 64; i++ {
		s0 := xor3(api, rotate(w[i-15], 7), rotate(w[i-15], 18), shift(w[i-15], 3))
		s1 := xor3(api, rotate(w[i-2], 17), rotate(w[i-2], 19), shift(w[i-2], 10))
		w[i] = sum(api, w[i-16], s0, w[i-7], s1)
	}
	s := *h
	for i := range 64 {
		a, b, c, d, e, f, g := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
		var ch, maj word
		for j := range 32 {
			ch[j] = api.Select(e[j], f[j], g[j])
			maj[j] = api.Select(api.Xor(a[j], b[j]), c[j], a[j])
		}
		t1 := []word{s[7], xor3(api, rotate(e, 6), rotate(e, 11), rotate(e, 25)), ch, constant(k[i]), w[i]}
		t2 := []word{xor3(api, rotate(a, 2), rotate(a, 13), rotate(a, 22)), maj}
		s = [8]word{sum(api, append(t1, t2...)...), a, b, c, sum(api, append(t1, d)...), e, f, g}
	}
	for i := range h {
		h[i] = sum(api, h[i], s[i])
	}
}

func constant(v uint32) (w word) {
	for i := range w {
		w[i] = v >> i & 1
	}
	return
}

func rotate(w word, n int) (out word) {
	for i := range out {
		out[i] = w[(i+n)%32]
	}
	return
}

func shift(w word, n int) (out word) {
	for i := range out {
		out[i] = 0
		if i+n < 32 {
			out[i] = w[i+n]
		}
	}
	return
}

func xor3(api frontend.API, a, b, c word) (out word) {
	for i := range out {
		out[i] = api.Xor(api.Xor(a[i], b[i]), c[i])
	}
	return
}

// sum adds modulo 2^32, up to eight words.
func sum(api frontend.API, ws ...word) (out word) {
	total := frontend.Variable(0)
	for _, w := range ws {
		total = api.Add(total, api.FromBinary(w[:]...))
	}
	copy(out[:], api.ToBinary(total, 35)[:32])
	return
}

var iv = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

// k are the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
var k = func() (out [64]uint32) {
	n := 0
	for p := int64(2); n < 64; p++ {
		if !big.NewInt(p).ProbablyPrime(10) {
			continue
		}
		// floor(cbrt(p) * 2^32) by bisection over integers
		x := new(big.Int).Lsh(big.NewInt(p), 96)
		lo, hi := new(big.Int), new(big.Int).Lsh(big.NewInt(1), 36)
		for {
			mid := new(big.Int).Rsh(new(big.Int).Add(lo, hi), 1)
			if mid.Cmp(lo) == 0 {
				break
			}
			if new(big.Int).Exp(mid, big.NewInt(3), nil).Cmp(x) <= 0 {
				lo = mid
			} else {
				hi = mid
			}
		}
		out[n] = uint32(lo.Uint64())
		n++
	}
	return
}()
