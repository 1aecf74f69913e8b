package keys

import (
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	gnark "github.com/consensys/gnark/backend/groth16/bls12-381"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth/gnarkcs"
)

// ImportVerifyingKey copies a gnark verifying key. Points are checked for the subgroup and, where both groups have one of
// the same secret, for agreement. The error is a *KeyError, or gnarkcs.ErrCommitment.
func ImportVerifyingKey(vk *gnark.VerifyingKey) (*groth16.VerifyingKey, error) {
	if len(vk.CommitmentKeys) != 0 || len(vk.PublicAndCommitmentCommitted) != 0 {
		return nil, fmt.Errorf("%w: verifying key with %d commitment keys", gnarkcs.ErrCommitment, len(vk.CommitmentKeys))
	}
	if len(vk.G1.K) == 0 {
		return nil, &KeyError{"G1.K", -1, "empty: the constant one is missing"}
	}
	out := &groth16.VerifyingKey{AlphaG1: vk.G1.Alpha, BetaG1: vk.G1.Beta, BetaG2: vk.G2.Beta, GammaG2: vk.G2.Gamma,
		DeltaG1: vk.G1.Delta, DeltaG2: vk.G2.Delta, IC: append([]bls12381.G1Affine(nil), vk.G1.K...)}
	for _, p := range []struct {
		name string
		at   int
		p    *bls12381.G1Affine
	}{{"G1.Alpha", -1, &out.AlphaG1}, {"G1.Beta", -1, &out.BetaG1}, {"G1.Delta", -1, &out.DeltaG1}} {
		if err := checkG1(p.name, p.at, p.p); err != nil {
			return nil, err
		}
	}
	for i := range out.IC {
		if err := checkG1("G1.K", i, &out.IC[i]); err != nil {
			return nil, err
		}
	}
	for _, p := range []struct {
		name string
		p    *bls12381.G2Affine
	}{{"G2.Beta", &out.BetaG2}, {"G2.Gamma", &out.GammaG2}, {"G2.Delta", &out.DeltaG2}} {
		if p.p.IsInfinity() || !p.p.IsInSubGroup() {
			return nil, &KeyError{p.name, -1, "at infinity or not in the subgroup"}
		}
	}
	if err := sameSecret("Beta", &out.BetaG1, &out.BetaG2); err != nil {
		return nil, err
	}
	return out, sameSecret("Delta", &out.DeltaG1, &out.DeltaG2)
}

func checkG1(name string, at int, p *bls12381.G1Affine) error {
	switch {
	case p.IsInfinity() && name == "G1.K" && at > 0:
		return &KeyError{name, at, "at infinity: that public input occurs in no row, and any value of it would verify"}
	case p.IsInfinity():
		return &KeyError{name, at, "at infinity"}
	case !p.IsInSubGroup():
		return &KeyError{name, at, "not in the subgroup"}
	}
	return nil
}

// sameSecret checks e(p, g2) = e(g1, q): gnark's verifier does not use p, a prover does.
func sameSecret(name string, p *bls12381.G1Affine, q *bls12381.G2Affine) error {
	_, _, g1, g2 := bls12381.Generators()
	var neg bls12381.G1Affine
	ok, err := bls12381.PairingCheck([]bls12381.G1Affine{*p, *neg.Neg(&g1)}, []bls12381.G2Affine{g2, *q})
	if err != nil || !ok {
		return &KeyError{"G1." + name, -1, "not of the same secret as G2." + name}
	}
	return nil
}

// ExportVerifyingKey makes gnark's form of a verifying key, ready to verify with.
func ExportVerifyingKey(vk *groth16.VerifyingKey) (*gnark.VerifyingKey, error) {
	if len(vk.IC) == 0 {
		return nil, fmt.Errorf("%w: ic is empty", groth16.ErrKey)
	}
	out := new(gnark.VerifyingKey)
	out.G1.Alpha, out.G1.Beta, out.G1.Delta = vk.AlphaG1, vk.BetaG1, vk.DeltaG1
	out.G2.Beta, out.G2.Gamma, out.G2.Delta = vk.BetaG2, vk.GammaG2, vk.DeltaG2
	out.G1.K = append([]bls12381.G1Affine(nil), vk.IC...)
	if err := out.Precompute(); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	return out, nil
}

// ImportProof copies a gnark proof; one with commitments is gnarkcs.ErrCommitment, a point at infinity or outside of the
// subgroup ErrProof.
func ImportProof(p *gnark.Proof) (*groth16.Proof, error) {
	if len(p.Commitments) != 0 {
		return nil, fmt.Errorf("%w: proof with %d commitments", gnarkcs.ErrCommitment, len(p.Commitments))
	}
	for _, x := range []struct {
		name string
		bad  bool
	}{{"Ar", p.Ar.IsInfinity() || !p.Ar.IsInSubGroup()}, {"Bs", p.Bs.IsInfinity() || !p.Bs.IsInSubGroup()},
		{"Krs", p.Krs.IsInfinity() || !p.Krs.IsInSubGroup()}} {
		if x.bad {
			return nil, fmt.Errorf("%w: %s is at infinity or not in the subgroup", ErrProof, x.name)
		}
	}
	return &groth16.Proof{A: p.Ar, B: p.Bs, C: p.Krs}, nil
}

// ExportProof makes gnark's form of a proof.
func ExportProof(p *groth16.Proof) *gnark.Proof { return &gnark.Proof{Ar: p.A, Bs: p.B, Krs: p.C} }
