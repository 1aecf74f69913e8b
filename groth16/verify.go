package groth16

import (
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// lines are the precomputed line functions of a fixed point of G2.
type lines = [2][len(bls12381.LoopCounter) - 1]bls12381.LineEvaluationAff

// prepared are values that depend on the key only.
type prepared struct {
	alphaBeta          bls12381.GT // e(alpha, beta)
	negGamma, negDelta lines
}

// prepare computes them at the first use.
func (vk *VerifyingKey) prepare() (*prepared, error) {
	vk.once.Do(func() {
		p := new(prepared)
		p.alphaBeta, vk.perr = bls12381.Pair([]bls12381.G1Affine{vk.AlphaG1}, []bls12381.G2Affine{vk.BetaG2})
		if vk.perr != nil {
			return
		}
		var n bls12381.G2Affine

		p.negGamma = bls12381.PrecomputeLines(*n.Neg(&vk.GammaG2))
		p.negDelta = bls12381.PrecomputeLines(*n.Neg(&vk.DeltaG2))
		vk.prep = p
	})
	return vk.prep, vk.perr
}

// publicSum is ic[0] + sum of public[i]·ic[i+1].
func (vk *VerifyingKey) publicSum(first *fr.Element, public []fr.Element) (bls12381.G1Affine, error) {
	scalars := make([]fr.Element, 0, len(public)+1)
	scalars = append(append(scalars, *first), public...)
	var p bls12381.G1Affine
	_, err := p.MultiExp(vk.IC, scalars, multiExpConfig)
	return p, err
}

// Verify says whether proof is a proof for the public inputs, which are without the constant one. A wrong number of
// inputs is ErrInputs. A proof with an element at infinity, which has no encoding, is false. Its points are of their groups, as
// ParseProof makes sure.
func Verify(vk *VerifyingKey, public []fr.Element, proof *Proof) (bool, error) {
	if err := vk.checkInputs(0, public); err != nil {
		return false, err
	}
	if proof == nil {
		return false, fmt.Errorf("%w: none given", ErrProof)
	}
	if proof.infinite() {
		return false, nil
	}
	prep, err := vk.prepare()
	if err != nil {
		return false, err
	}
	one := fr.One()
	acc, err := vk.publicSum(&one, public)
	if err != nil {
		return false, err
	}
	m, err := bls12381.MillerLoop([]bls12381.G1Affine{proof.A}, []bls12381.G2Affine{proof.B})
	if err != nil {
		return false, err
	}
	f, err := bls12381.MillerLoopFixedQ([]bls12381.G1Affine{acc, proof.C}, []lines{prep.negGamma, prep.negDelta})
	if err != nil {
		return false, err
	}
	got := bls12381.FinalExponentiation(&m, &f)
	return got.Equal(&prep.alphaBeta), nil
}

// VerifyBytes is Verify for an encoded proof; an encoding error is a *ProofError.
func VerifyBytes(vk *VerifyingKey, public []fr.Element, proof []byte) (bool, error) {
	p, err := ParseProof(proof)
	if err != nil {
		return false, err
	}
	return Verify(vk, public, p)
}
