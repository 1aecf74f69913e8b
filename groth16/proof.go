package groth16

import (
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/internal/curveio"
)

// ProofSize is the size of an encoded proof in bytes.
const ProofSize = 192

// Proof is a Groth16 proof. The encoding is A and C compressed in G1, B compressed in G2 between them.
type Proof struct {
	A bls12381.G1Affine
	B bls12381.G2Affine
	C bls12381.G1Affine
}

// Bytes is the encoding.
func (p *Proof) Bytes() [ProofSize]byte {
	var b [ProofSize]byte
	curveio.PutG1Compressed(b[:48], &p.A)
	curveio.PutG2Compressed(b[48:144], &p.B)
	curveio.PutG1Compressed(b[144:], &p.C)
	return b
}

// ParseProof decodes exactly 192 bytes with all checks: canonical encoding, on the curve, in the prime-order subgroup,
// none of the three at infinity. The error is a *ProofError.
func ParseProof(b []byte) (*Proof, error) { return parseProof(0, b) }

func parseProof(i int, b []byte) (*Proof, error) {
	if len(b) != ProofSize {
		return nil, &ProofError{i, "length", &LengthError{ProofSize, int64(len(b))}}
	}
	var p Proof
	if err := curveio.G1Compressed(&p.A, b[:48]); err != nil {
		return nil, &ProofError{i, "A", err}
	}
	if err := curveio.G2Compressed(&p.B, b[48:144]); err != nil {
		return nil, &ProofError{i, "B", err}
	}
	if err := curveio.G1Compressed(&p.C, b[144:]); err != nil {
		return nil, &ProofError{i, "C", err}
	}
	return &p, nil
}

// ParseProofs decodes a concatenation of exactly count proofs, as the proofs of a sector's partitions are handed around.
func ParseProofs(b []byte, count int) ([]*Proof, error) {
	if count < 0 || len(b)%ProofSize != 0 || len(b)/ProofSize != count {
		return nil, fmt.Errorf("%w: %d bytes for %d proofs of %d", ErrProof, len(b), count, ProofSize)
	}
	proofs := make([]*Proof, count)
	for i := range proofs {
		var err error
		if proofs[i], err = parseProof(i, b[i*ProofSize:(i+1)*ProofSize]); err != nil {
			return nil, err
		}
	}
	return proofs, nil
}

// AppendProofs appends the encodings in order.
func AppendProofs(dst []byte, proofs ...*Proof) []byte {
	for _, p := range proofs {
		b := p.Bytes()
		dst = append(dst, b[:]...)
	}
	return dst
}

// inGroups says whether all points are on their curves and in the groups of order r. The pairing does not see every point that is
// not, but who decodes the proof refuses it.
func (p *Proof) inGroups() bool {
	return p.A.IsInSubGroup() && p.B.IsInSubGroup() && p.C.IsInSubGroup()
}

// infinite says whether any element is at infinity, which no encoded proof has.
func (p *Proof) infinite() bool { return p.A.IsInfinity() || p.B.IsInfinity() || p.C.IsInfinity() }
