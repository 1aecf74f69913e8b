package groth16

import (
	"fmt"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/internal/curveio"
)

// bn254Modulus is the base field of the curve that most other Groth16 tools use: y^2 = x^3 + 3.
const bn254Modulus = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"

// wrongCurve recognises, in the beginning of what should be a key, key files of other tools and curves; nil says nothing.
func wrongCurve(b []byte) error {
	for magic, what := range map[string]string{
		"zkey": "a snarkjs .zkey", "r1cs": "a circom .r1cs", "wtns": "a circom witness", "zkif": "a zkInterface file",
	} {
		if len(b) >= 4 && string(b[:4]) == magic {
			return &KeyError{"", "file", -1, fmt.Errorf("%w: %s", ErrWrongCurve, what)}
		}
	}
	var p bls12381.G1Affine
	if len(b) >= curveio.G1Size && curveio.G1(&p, b[:curveio.G1Size]) == nil {
		return nil
	}
	if len(b) >= 64 && onBN254(b[:64]) {
		return &KeyError{"", "file", -1, fmt.Errorf("%w: it begins with a point of BN254", ErrWrongCurve)}
	}
	return nil
}

// onBN254 says whether b begins with a finite point of BN254: 64 bytes big endian uncompressed, or 32 bytes in
// gnark-crypto's compressed form.
func onBN254(b []byte) bool {
	q, _ := new(big.Int).SetString(bn254Modulus, 16)
	rhs := func(x *big.Int) *big.Int {
		v := new(big.Int).Exp(x, big.NewInt(3), q)
		return v.Add(v, big.NewInt(3)).Mod(v, q)
	}
	x, y := new(big.Int).SetBytes(b[:32]), new(big.Int).SetBytes(b[32:64])
	if x.Cmp(q) < 0 && y.Cmp(q) < 0 && new(big.Int).Exp(y, big.NewInt(2), q).Cmp(rhs(x)) == 0 {
		return true
	}
	if f := b[0] & 0xc0; f != 0x80 && f != 0xc0 {
		return false
	}
	c := append([]byte(nil), b[:32]...)
	c[0] &= 0x3f
	x.SetBytes(c)
	return x.Cmp(q) < 0 && new(big.Int).ModSqrt(rhs(x), q) != nil
}
