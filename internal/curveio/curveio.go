// Package curveio reads and writes points of BLS12-381 in the ZCash encoding that parameter files, proofs and SRS files
// use (big endian, Fp2 with c1 before c0, three flag bits in the first byte), as strictly as the deployed stack reads
// checked points, and stricter where it is lax by accident.
//
// It is for files and proofs. Hash-to-curve and signatures have libraries of their own.
package curveio

import (
	"errors"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Sizes of encodings in bytes.
const (
	G1Size           = 96
	G2Size           = 192
	G1CompressedSize = 48
	G2CompressedSize = 96
)

const (
	flagCompressed = 0x80
	flagInfinity   = 0x40
	flagLargest    = 0x20
	flagMask       = 0xe0
)

// What can be wrong with an encoded point. Every one of them is also ErrPoint.
var (
	ErrPoint    = errors.New("bad point encoding")
	ErrLength   = fmt.Errorf("%w: wrong length", ErrPoint)
	ErrFlags    = fmt.Errorf("%w: flag bits", ErrPoint)
	ErrRange    = fmt.Errorf("%w: coordinate not below the modulus", ErrPoint)
	ErrCurve    = fmt.Errorf("%w: not on the curve", ErrPoint)
	ErrSubgroup = fmt.Errorf("%w: not in the prime-order subgroup", ErrPoint)
	ErrInfinity = fmt.Errorf("%w: point at infinity", ErrPoint)
)

// four is the curve's constant; the twist's is 4(1+u).
var four = fp.NewElement(4)

func getFp(z *fp.Element, b []byte) error {
	v, err := fp.BigEndian.Element((*[48]byte)(b))
	if err != nil {
		return ErrRange
	}
	*z = v
	return nil
}

func zero(b []byte) bool {
	var x byte
	for _, v := range b {
		x |= v
	}
	return x == 0
}

// onCurve1 is y^2 = x^3 + 4 for a finite point; (0, 0), by which gnark-crypto means infinity, is not one.
func onCurve1(p *bls12381.G1Affine) bool {
	var l, r fp.Element
	l.Square(&p.Y)
	r.Square(&p.X)
	r.Mul(&r, &p.X)
	r.Add(&r, &four)
	return l.Equal(&r)
}

// onCurve2 is y^2 = x^3 + 4(1+u).
func onCurve2(p *bls12381.G2Affine) bool {
	var l, r bls12381.E2
	l.Square(&p.Y)
	r.Square(&p.X)
	r.Mul(&r, &p.X)
	r.A0.Add(&r.A0, &four)
	r.A1.Add(&r.A1, &four)
	return l.Equal(&r)
}

// G1 decodes an uncompressed point of 96 bytes. The curve equation is checked, the subgroup is not. Infinity is decoded
// (p is zero) and reported as ErrInfinity, which a caller may ignore.
func G1(p *bls12381.G1Affine, b []byte) error {
	if len(b) != G1Size {
		return ErrLength
	}
	if b[0]&flagMask != 0 {
		*p = bls12381.G1Affine{}
		if b[0] == flagInfinity && zero(b[1:]) {
			return ErrInfinity
		}
		return ErrFlags
	}
	if err := getFp(&p.X, b[:48]); err != nil {
		return err
	}
	if err := getFp(&p.Y, b[48:]); err != nil {
		return err
	}
	if !onCurve1(p) {
		return ErrCurve
	}
	return nil
}

// G2 decodes an uncompressed point of 192 bytes; see G1.
func G2(p *bls12381.G2Affine, b []byte) error {
	if len(b) != G2Size {
		return ErrLength
	}
	if b[0]&flagMask != 0 {
		*p = bls12381.G2Affine{}
		if b[0] == flagInfinity && zero(b[1:]) {
			return ErrInfinity
		}
		return ErrFlags
	}
	for i, z := range [...]*fp.Element{&p.X.A1, &p.X.A0, &p.Y.A1, &p.Y.A0} {
		if err := getFp(z, b[48*i:48*i+48]); err != nil {
			return err
		}
	}
	if !onCurve2(p) {
		return ErrCurve
	}
	return nil
}

// G1Checked is G1 with the subgroup test.
func G1Checked(p *bls12381.G1Affine, b []byte) error {
	if err := G1(p, b); err != nil {
		return err
	}
	if !p.IsInSubGroup() {
		return ErrSubgroup
	}
	return nil
}

// G2Checked is G2 with the subgroup test.
func G2Checked(p *bls12381.G2Affine, b []byte) error {
	if err := G2(p, b); err != nil {
		return err
	}
	if !p.IsInSubGroup() {
		return ErrSubgroup
	}
	return nil
}

// compressedFlags checks the flags of a compressed point; the error is ErrInfinity for a well-formed infinity.
func compressedFlags(b []byte) (largest bool, err error) {
	f := b[0]
	switch {
	case f&flagCompressed == 0:
		return false, ErrFlags
	case f&flagInfinity != 0:
		if f&^(flagCompressed|flagInfinity) == 0 && zero(b[1:]) {
			return false, ErrInfinity
		}
		return false, ErrFlags
	}
	return f&flagLargest != 0, nil
}

// G1Compressed decodes 48 bytes with all checks, the subgroup's included. Infinity is reported as ErrInfinity with p
// zero.
func G1Compressed(p *bls12381.G1Affine, b []byte) error {
	*p = bls12381.G1Affine{}
	if len(b) != G1CompressedSize {
		return ErrLength
	}
	largest, err := compressedFlags(b)
	if err != nil {
		return err
	}
	var x [48]byte
	copy(x[:], b)
	x[0] &^= flagMask
	if err := getFp(&p.X, x[:]); err != nil {
		return err
	}
	var r fp.Element
	r.Square(&p.X)
	r.Mul(&r, &p.X)
	r.Add(&r, &four)
	if p.Y.Sqrt(&r) == nil {
		return ErrCurve
	}
	if p.Y.LexicographicallyLargest() != largest {
		p.Y.Neg(&p.Y)
	}
	if !p.IsInSubGroup() {
		return ErrSubgroup
	}
	return nil
}

// G2Compressed decodes 96 bytes; see G1Compressed.
func G2Compressed(p *bls12381.G2Affine, b []byte) error {
	*p = bls12381.G2Affine{}
	if len(b) != G2CompressedSize {
		return ErrLength
	}
	largest, err := compressedFlags(b)
	if err != nil {
		return err
	}
	var x [48]byte
	copy(x[:], b)
	x[0] &^= flagMask
	if err := getFp(&p.X.A1, x[:]); err != nil {
		return err
	}
	if err := getFp(&p.X.A0, b[48:]); err != nil {
		return err
	}
	var r, s bls12381.E2
	r.Square(&p.X)
	r.Mul(&r, &p.X)
	r.A0.Add(&r.A0, &four)
	r.A1.Add(&r.A1, &four)
	if r.Legendre() == -1 {
		return ErrCurve
	}
	p.Y.Sqrt(&r)
	if s.Square(&p.Y); !s.Equal(&r) {
		return ErrCurve
	}
	if p.Y.LexicographicallyLargest() != largest {
		p.Y.Neg(&p.Y)
	}
	if !p.IsInSubGroup() {
		return ErrSubgroup
	}
	return nil
}

// PutG1 writes the uncompressed form into b[:96].
func PutG1(b []byte, p *bls12381.G1Affine) {
	b = b[:G1Size]
	if p.X.IsZero() && p.Y.IsZero() {
		clear(b)
		b[0] = flagInfinity
		return
	}
	fp.BigEndian.PutElement((*[48]byte)(b), p.X)
	fp.BigEndian.PutElement((*[48]byte)(b[48:]), p.Y)
}

// PutG2 writes the uncompressed form into b[:192].
func PutG2(b []byte, p *bls12381.G2Affine) {
	b = b[:G2Size]
	if p.X.IsZero() && p.Y.IsZero() {
		clear(b)
		b[0] = flagInfinity
		return
	}
	fp.BigEndian.PutElement((*[48]byte)(b), p.X.A1)
	fp.BigEndian.PutElement((*[48]byte)(b[48:]), p.X.A0)
	fp.BigEndian.PutElement((*[48]byte)(b[96:]), p.Y.A1)
	fp.BigEndian.PutElement((*[48]byte)(b[144:]), p.Y.A0)
}

// PutG1Compressed writes the compressed form into b[:48].
func PutG1Compressed(b []byte, p *bls12381.G1Affine) {
	v := p.Bytes()
	copy(b[:G1CompressedSize], v[:])
}

// PutG2Compressed writes the compressed form into b[:96].
func PutG2Compressed(b []byte, p *bls12381.G2Affine) {
	v := p.Bytes()
	copy(b[:G2CompressedSize], v[:])
}
