package groth16

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/curveio"
	"github.com/filgroth/filgroth/internal/par"
	"golang.org/x/crypto/blake2b"
)

// VerifyingKey is what a verifier needs, in bellperson's order of fields. Once it was used it must not be changed. It is
// safe for concurrent use and is used by pointer.
type VerifyingKey struct {
	AlphaG1 bls12381.G1Affine
	BetaG1  bls12381.G1Affine
	BetaG2  bls12381.G2Affine
	GammaG2 bls12381.G2Affine
	DeltaG1 bls12381.G1Affine
	DeltaG2 bls12381.G2Affine
	// IC has one point for each public input, the constant one first.
	IC []bls12381.G1Affine

	once sync.Once
	prep *prepared
	perr error
}

// vkHeader is the size of a .vk file before ic: six points and the count.
const vkHeader = 868

// Inputs is the number of public inputs that Verify wants: the constant one is not counted.
func (vk *VerifyingKey) Inputs() int { return len(vk.IC) - 1 }

// Bytes is the .vk encoding of bellperson: 868 + 96·len(IC) bytes.
func (vk *VerifyingKey) Bytes() []byte {
	b := make([]byte, vkHeader+curveio.G1Size*len(vk.IC))
	curveio.PutG1(b, &vk.AlphaG1)
	curveio.PutG1(b[96:], &vk.BetaG1)
	curveio.PutG2(b[192:], &vk.BetaG2)
	curveio.PutG2(b[384:], &vk.GammaG2)
	curveio.PutG1(b[576:], &vk.DeltaG1)
	curveio.PutG2(b[672:], &vk.DeltaG2)
	binary.BigEndian.PutUint32(b[864:], uint32(len(vk.IC)))
	for i := range vk.IC {
		curveio.PutG1(b[vkHeader+96*i:], &vk.IC[i])
	}
	return b
}

// WriteTo writes the .vk encoding.
func (vk *VerifyingKey) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(vk.Bytes())
	return int64(n), err
}

// Digest is the unkeyed BLAKE2b-512 of the .vk encoding; its first 16 bytes are the digest of a published
// parameters.json.
func (vk *VerifyingKey) Digest() [64]byte { return blake2b.Sum512(vk.Bytes()) }

// Equal compares all points.
func (vk *VerifyingKey) Equal(o *VerifyingKey) bool { return bytes.Equal(vk.Bytes(), o.Bytes()) }

// ReadFrom reads a .vk encoding with all checks (on the curve, in the subgroup, ic never at infinity, and no fixed point
// at infinity either, which no honest key has) and leaves what follows it in r. The error of bad content is a *KeyError.
// vk must be new.
func (vk *VerifyingKey) ReadFrom(r io.Reader) (int64, error) {
	hdr := make([]byte, vkHeader)
	n, err := io.ReadFull(r, hdr)
	read := int64(n)
	if err != nil {
		if n > 0 {
			if werr := wrongCurve(hdr[:n]); werr != nil {
				return read, werr
			}
		}
		return read, truncated("header", err)
	}
	count, err := vk.readHeader(hdr)
	if err != nil {
		return read, err
	}
	m, err := vk.readIC(r, count)
	return read + m, err
}

// icChunk is how many points of ic are read and checked at a time, on all processors: a WindowPoSt key has 25,840.
const icChunk = 4096

// readIC reads count points. The count is not trusted: ic grows as points arrive.
func (vk *VerifyingKey) readIC(r io.Reader, count int) (read int64, err error) {
	vk.IC = make([]bls12381.G1Affine, 0, min(count, icChunk))
	buf := make([]byte, min(count, icChunk)*curveio.G1Size)
	for len(vk.IC) < count {
		at := len(vk.IC)
		b := buf[:min(count-at, icChunk)*curveio.G1Size]
		n, rerr := io.ReadFull(r, b)
		read += int64(n)
		points := n / curveio.G1Size
		vk.IC = append(vk.IC, make([]bls12381.G1Affine, points)...)
		err := par.Range(context.Background(), 0, points, 64, func(_, lo, hi int) error {
			for i := lo; i < hi; i++ {
				if err := curveio.G1Checked(&vk.IC[at+i], b[i*curveio.G1Size:(i+1)*curveio.G1Size]); err != nil {
					return &KeyError{"", "ic", at + i, err}
				}
			}
			return nil
		})
		if err != nil {
			return read, err
		}
		if rerr != nil {
			return read, &KeyError{"", "ic", at + points, unexpectedEOF(rerr)}
		}
	}
	return read, nil
}

func truncated(section string, err error) error {
	return &KeyError{"", section, -1, unexpectedEOF(err)}
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (vk *VerifyingKey) readHeader(b []byte) (count int, err error) {
	if err := wrongCurve(b); err != nil {
		return 0, err
	}
	for _, f := range []struct {
		name string
		p    any
		b    []byte
	}{
		{"alpha_g1", &vk.AlphaG1, b[:96]}, {"beta_g1", &vk.BetaG1, b[96:192]}, {"beta_g2", &vk.BetaG2, b[192:384]},
		{"gamma_g2", &vk.GammaG2, b[384:576]}, {"delta_g1", &vk.DeltaG1, b[576:672]}, {"delta_g2", &vk.DeltaG2, b[672:864]},
	} {
		var err error
		switch p := f.p.(type) {
		case *bls12381.G1Affine:
			err = curveio.G1Checked(p, f.b)
		case *bls12381.G2Affine:
			err = curveio.G2Checked(p, f.b)
		}
		if err != nil {
			return 0, &KeyError{"", f.name, -1, err}
		}
	}
	count = int(binary.BigEndian.Uint32(b[864:]))
	if count == 0 {
		return 0, &KeyError{"", "ic", -1, errors.New("no points: the constant one is missing")}
	}
	if count > 1<<31 {
		return 0, &KeyError{"", "ic", -1, &LengthError{1 << 31, int64(count)}}
	}
	return count, nil
}

// ParseVerifyingKey decodes a whole .vk file; trailing bytes are refused.
func ParseVerifyingKey(b []byte) (*VerifyingKey, error) {
	vk := new(VerifyingKey)
	r := bytes.NewReader(b)
	if _, err := vk.ReadFrom(r); err != nil {
		return nil, err
	}
	if r.Len() != 0 {
		return nil, &KeyError{"", "file", -1, &LengthError{int64(len(b) - r.Len()), int64(len(b))}}
	}
	return vk, nil
}

// checkInputs wants exactly the inputs after the constant one.
func (vk *VerifyingKey) checkInputs(i int, public []fr.Element) error {
	if len(vk.IC) == 0 {
		return fmt.Errorf("%w: verifying key without points", ErrKey)
	}
	if len(public) != vk.Inputs() {
		return fmt.Errorf("%w: proof %d has %d, the key wants %d", ErrInputs, i, len(public), vk.Inputs())
	}
	return nil
}
