// Package sha256 is the SHA-256 gadget (FIPS 180-4), row by row that of the deployed circuits (bellpepper's sha256). In
// Assign mode it computes and emits the witness a word at a time.
//
// It is not a hash function: use crypto/sha256 for hashing bytes.
package sha256

import (
	"errors"
	"fmt"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
)

// ErrLength: the number of bits does not suit the operation.
var ErrLength = errors.New("sha256: wrong number of bits")

const (
	blockBits = 512
	stateBits = 256
)

// Hash is SHA-256 of the bits of pieces taken together, most significant bit of each byte first: 256 Booleans in the same
// order. The total length must be a multiple of 8. Pieces of whole 32-bit words are not copied in Assign mode.
func Hash(b *synth.Builder, pieces ...boolean.Vec) (boolean.Vec, error) {
	n := 0
	for _, p := range pieces {
		n += p.Len()
	}
	if n%8 != 0 {
		return boolean.Vec{}, fmt.Errorf("%w: %d is not a multiple of 8", ErrLength, n)
	}
	if b.Mode() == synth.Assign {
		return hashWords(b, pieces, n), nil
	}
	return hashRows(b, pieces, n), nil
}

// BlockNoPadding is one compression of exactly 512 bits from the initial state, without padding.
func BlockNoPadding(b *synth.Builder, block boolean.Vec) (boolean.Vec, error) {
	return Compress(b, block, InitialState(b))
}

// InitialState is the constant state that a hash starts from, as the 256 bits of h0..h7, each most significant first.
func InitialState(b *synth.Builder) boolean.Vec {
	var s [32]byte
	for i, h := range iv {
		s[4*i], s[4*i+1], s[4*i+2], s[4*i+3] = byte(h>>24), byte(h>>16), byte(h>>8), byte(h)
	}
	return boolean.Constants(b, s[:])
}

// Compress is one compression of 512 bits into a state of 256 bits in the form of InitialState; it gives the next state.
func Compress(b *synth.Builder, block, state boolean.Vec) (boolean.Vec, error) {
	if block.Len() != blockBits || state.Len() != stateBits {
		return boolean.Vec{}, fmt.Errorf("%w: block of %d, state of %d", ErrLength, block.Len(), state.Len())
	}
	if b.Mode() == synth.Assign {
		w, h := [16]boolean.Word(block.Words()), [8]boolean.Word(state.Words())
		compressWords(b, &w, &h)
		return boolean.FromWords(h[:], stateBits), nil
	}
	h := words(state.Bools())
	h = compressRows(b, block.Bools(), h)
	return vec(b, &h), nil
}

var iv = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

// roundK are the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
var roundK = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
