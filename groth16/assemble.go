package groth16

import (
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// assemble blinds the sums with r and s:
//
//	A = alpha + r·delta + ΣA      B = beta + s·delta + ΣB2
//	C = s·ΣA + r·ΣB1 + rs·delta + s·alpha + r·beta + H + L
//
// r and s must be uniform and fresh for every proof, and be forgotten: a prover draws them itself.
func assemble(vk *VerifyingKey, sums *Sums, r, s *fr.Element) *Proof {
	var rs fr.Element
	rs.Mul(r, s)
	rb, sb, rsb := r.BigInt(new(big.Int)), s.BigInt(new(big.Int)), rs.BigInt(new(big.Int))
	mul := func(p *bls12381.G1Jac, k *big.Int) *bls12381.G1Jac {
		return new(bls12381.G1Jac).ScalarMultiplication(p, k)
	}
	jac := func(p *bls12381.G1Affine) *bls12381.G1Jac { return new(bls12381.G1Jac).FromAffine(p) }
	alpha, beta, delta := jac(&vk.AlphaG1), jac(&vk.BetaG1), jac(&vk.DeltaG1)

	var p Proof
	a := mul(delta, rb)
	a.AddAssign(alpha)
	a.AddAssign(&sums.A)
	p.A.FromJacobian(a)

	var b, d bls12381.G2Jac
	d.FromAffine(&vk.DeltaG2)
	b.ScalarMultiplication(&d, sb)
	b.AddMixed(&vk.BetaG2)
	b.AddAssign(&sums.B2)
	p.B.FromJacobian(&b)

	c := mul(&sums.A, sb)
	for _, x := range []*bls12381.G1Jac{mul(&sums.B1, rb), mul(delta, rsb), mul(alpha, sb), mul(beta, rb), &sums.H, &sums.L} {
		c.AddAssign(x)
	}
	p.C.FromJacobian(c)
	return &p
}
