package aggregate

import (
	"errors"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

const (
	sizeG1 = bls12381.SizeOfG1AffineCompressed
	sizeG2 = bls12381.SizeOfG2AffineCompressed
	sizeGT = 6 * fp.Bytes // compressed
)

var (
	errNoTorusForm = errors.New("±1 has no compressed form")
	errGTSubgroup  = errors.New("not in the subgroup of order r")
)

// compressGT writes g, of norm 1 over Fp6, as the point (c0+1)/c1 of the torus T2 (Rubin, Silverberg,
// "Torus-based cryptography"): six base-field coefficients, canonical, little-endian.
func compressGT(dst []byte, g *bls12381.GT) error {
	b, err := g.CompressTorus()
	if err != nil {
		return errNoTorusForm
	}
	for i, c := range []fp.Element{b.B0.A0, b.B0.A1, b.B1.A0, b.B1.A1, b.B2.A0, b.B2.A1} {
		fp.LittleEndian.PutElement((*[fp.Bytes]byte)(dst[i*fp.Bytes:]), c)
	}
	return nil
}

// decompressGT is the inverse of compressGT on src[:sizeGT]. It refuses coefficients that are not canonical
// and elements outside the subgroup of order r.
func decompressGT(src []byte) (g bls12381.GT, err error) {
	b := &g.C0
	for i, c := range []*fp.Element{&b.B0.A0, &b.B0.A1, &b.B1.A0, &b.B1.A1, &b.B2.A0, &b.B2.A1} {
		if *c, err = fp.LittleEndian.Element((*[fp.Bytes]byte)(src[i*fp.Bytes:])); err != nil {
			return bls12381.GT{}, err
		}
	}
	g = b.DecompressTorus() // b - w is invertible for every b in Fp6
	if !g.IsInSubGroup() {
		return bls12381.GT{}, errGTSubgroup
	}
	return g, nil
}

// rawGT is the form in which the transcript takes an element: twelve canonical little-endian coefficients,
// from the constant one upwards.
func rawGT(g *bls12381.GT) (out [12 * fp.Bytes]byte) {
	for i, c := range []fp.Element{
		g.C0.B0.A0, g.C0.B0.A1, g.C0.B1.A0, g.C0.B1.A1, g.C0.B2.A0, g.C0.B2.A1,
		g.C1.B0.A0, g.C1.B0.A1, g.C1.B1.A0, g.C1.B1.A1, g.C1.B2.A0, g.C1.B2.A1,
	} {
		fp.LittleEndian.PutElement((*[fp.Bytes]byte)(out[i*fp.Bytes:]), c)
	}
	return out
}
