package groth16

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

var multiExpConfig = ecc.MultiExpConfig{}

// BatchVerify says whether all proofs hold, proof j for the inputs public[j]. It checks one random linear combination
// with weights of 128 bits: a batch with a false proof passes with probability at most 2^-128. An empty batch is an
// error; which proof is false it does not say. Every input vector is checked for its length before anything else.
func BatchVerify(vk *VerifyingKey, public [][]fr.Element, proofs []*Proof) (bool, error) {
	if err := checkBatch(vk, public, proofs); err != nil {
		return false, err
	}
	if len(proofs) == 1 {
		return Verify(vk, public[0], proofs[0])
	}
	weights := make([]fr.Element, len(proofs))
	for j := range weights {
		var err error
		if weights[j], err = weight(rand.Reader); err != nil {
			return false, err
		}
	}
	return batchVerify(vk, public, proofs, weights)
}

// VerifyMany is BatchVerify for a concatenation of len(public) encoded proofs.
func VerifyMany(vk *VerifyingKey, public [][]fr.Element, proofs []byte) (bool, error) {
	ps, err := ParseProofs(proofs, len(public))
	if err != nil {
		return false, err
	}
	return BatchVerify(vk, public, ps)
}

func checkBatch(vk *VerifyingKey, public [][]fr.Element, proofs []*Proof) error {
	if len(proofs) == 0 || len(proofs) != len(public) {
		return fmt.Errorf("%w: %d proofs, %d input vectors", ErrInputs, len(proofs), len(public))
	}
	for j := range public {
		if err := vk.checkInputs(j, public[j]); err != nil {
			return err
		}
		if proofs[j] == nil {
			return fmt.Errorf("%w: proof %d: none given", ErrProof, j)
		}
	}
	return nil
}

// weight draws a uniform integer of 128 bits.
func weight(r io.Reader) (fr.Element, error) {
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return fr.Element{}, err
	}
	var buf [32]byte
	binary.BigEndian.PutUint64(buf[16:], binary.LittleEndian.Uint64(b[8:]))
	binary.BigEndian.PutUint64(buf[24:], binary.LittleEndian.Uint64(b[:8]))
	var z fr.Element
	z.SetBytes(buf[:])
	return z, nil
}

// batchVerify checks, with z the weights and S = (sum z_j) ic_0 + sum_i (sum_j z_j x_ji) ic_(i+1),
// prod_j e(z_j A_j, B_j) = e(alpha, beta)^(sum z_j) · e(S, gamma) · e(sum z_j C_j, delta).
// The power of e(alpha, beta) is taken as a pairing with (sum z_j)·alpha, in G1.
func batchVerify(vk *VerifyingKey, public [][]fr.Element, proofs []*Proof, z []fr.Element) (bool, error) {
	prep, err := vk.prepare()
	if err != nil {
		return false, err
	}
	n := len(proofs)
	as, bs := make([]bls12381.G1Affine, n, n+1), make([]bls12381.G2Affine, n, n+1)
	cs := make([]bls12381.G1Affine, n)
	var sum, t fr.Element
	xs := make([]fr.Element, vk.Inputs())
	for j, p := range proofs {
		if p.infinite() {
			return false, nil
		}
		as[j].ScalarMultiplication(&p.A, z[j].BigInt(new(big.Int)))
		bs[j], cs[j] = p.B, p.C
		sum.Add(&sum, &z[j])
		for i := range xs {
			xs[i].Add(&xs[i], t.Mul(&z[j], &public[j][i]))
		}
	}
	var alpha, c bls12381.G1Affine
	alpha.ScalarMultiplication(&vk.AlphaG1, sum.BigInt(new(big.Int)))
	as, bs = append(as, *alpha.Neg(&alpha)), append(bs, vk.BetaG2)
	if _, err := c.MultiExp(cs, z, multiExpConfig); err != nil {
		return false, err
	}
	s, err := vk.publicSum(&sum, xs)
	if err != nil {
		return false, err
	}
	m, err := bls12381.MillerLoop(as, bs)
	if err != nil {
		return false, err
	}
	f, err := bls12381.MillerLoopFixedQ([]bls12381.G1Affine{s, c}, []lines{prep.negGamma, prep.negDelta})
	if err != nil {
		return false, err
	}
	got := bls12381.FinalExponentiation(&m, &f)
	var one bls12381.GT
	one.SetOne()
	return got.Equal(&one), nil
}
