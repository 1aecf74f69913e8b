// Package vanilla holds what the vanilla (not yet zero-knowledge) proofs of the Filecoin circuits share: 32-byte commitments, Merkle
// proofs of the three tree forms with their verification, sector sizes and registered proof types, and one description of every
// structure that serves four codecs (JSON and bincode, reading and writing).
//
// It has no circuit code. Programs that only prove use the packages porep, post and update on top of it.
package vanilla

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Commitment is a tree node, root, label or identifier: 32 bytes, a little-endian integer. Where it stands for a field element it
// is canonical (below the modulus); the decoders of this package refuse other values.
type Commitment [32]byte

// limbs of the modulus, least significant first
const (
	q0 = 0xffffffff00000001
	q1 = 0x53bda402fffe5bfe
	q2 = 0x3339d80809a1d805
	q3 = 0x73eda753299d7d48
)

// Canonical reports whether c is below the modulus of the scalar field.
func (c *Commitment) Canonical() bool {
	_, b := bits.Sub64(binary.LittleEndian.Uint64(c[0:]), q0, 0)
	_, b = bits.Sub64(binary.LittleEndian.Uint64(c[8:]), q1, b)
	_, b = bits.Sub64(binary.LittleEndian.Uint64(c[16:]), q2, b)
	_, b = bits.Sub64(binary.LittleEndian.Uint64(c[24:]), q3, b)
	return b == 1
}

// Fr returns c as a field element (Montgomery form); an error if c is not canonical.
func (c *Commitment) Fr() (fr.Element, error) {
	e, err := fr.LittleEndian.Element((*[32]byte)(c))
	if err != nil {
		return fr.Element{}, &FieldError{Offset: -1, Reason: reasonCanonical}
	}
	return e, nil
}

// FrReduced returns c modulo the field order; equal to Fr for canonical values.
func (c *Commitment) FrReduced() fr.Element {
	e, err := fr.LittleEndian.Element((*[32]byte)(c))
	if err == nil {
		return e
	}
	var be [32]byte
	for i := range c {
		be[31-i] = c[i]
	}
	e.SetBytes(be[:])
	return e
}

// FromFr returns the canonical little-endian bytes of e.
func FromFr(e fr.Element) Commitment {
	var c Commitment
	fr.LittleEndian.PutElement((*[32]byte)(&c), e)
	return c
}

// IsZero reports whether all bytes are zero.
func (c *Commitment) IsZero() bool { return *c == Commitment{} }

// String is the hex of the bytes in order.
func (c Commitment) String() string { return hex.EncodeToString(c[:]) }

// Truncate clears the two most significant bits, which makes any 256-bit digest a canonical field element.
func (c *Commitment) Truncate() { c[31] &= 0x3f }

// ProverID is the 32-byte miner identifier that enters replica_id and PoSt challenges: the payload of the ID address (unsigned
// LEB128 of the actor number), zero padded.
func ProverID(miner uint64) Commitment {
	var c Commitment
	binary.PutUvarint(c[:], miner)
	return c
}
