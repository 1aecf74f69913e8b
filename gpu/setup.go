package gpu

import (
	"context"
	"fmt"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
)

var _ groth16.FixedBase = fixedBase{}

// FixedBase makes the points of a key on the device, for groth16.SetupOptions. Its tables take some 300 MB there until
// Trim.
func (d *Device) FixedBase() groth16.FixedBase { return fixedBase{d} }

// fixedBase is a type of its own because the methods' names are those of msm.Engine.
type fixedBase struct{ d *Device }

// Chunk implements groth16.FixedBase.
func (fixedBase) Chunk() int { return 1 << 20 }

// G1 implements groth16.FixedBase.
func (f fixedBase) G1(ctx context.Context, k []fr.Element, dst []byte) error {
	_, _, g, _ := bls12381.Generators()
	return f.multiples(ctx, 1, unsafe.Pointer(&g), k, dst, bls12381.SizeOfG1AffineUncompressed)
}

// G2 implements groth16.FixedBase.
func (f fixedBase) G2(ctx context.Context, k []fr.Element, dst []byte) error {
	_, _, _, g := bls12381.Generators()
	return f.multiples(ctx, 2, unsafe.Pointer(&g), k, dst, bls12381.SizeOfG2AffineUncompressed)
}

func (f fixedBase) multiples(ctx context.Context, group int, base unsafe.Pointer, k []fr.Element, dst []byte, size int) error {
	if len(dst) != len(k)*size {
		return fmt.Errorf("%w: %d bytes for %d points", ErrConfig, len(dst), len(k))
	}
	return f.d.do(ctx, func(cancel *int32) result { return f.d.lib.multiples(f.d.h, group, base, k, dst, cancel) })
}
