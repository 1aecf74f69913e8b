package gpu

import (
	"context"
	"fmt"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
)

var (
	_ ntt.Engine = (*Device)(nil)
	_ msm.Engine = (*Device)(nil)
)

// MaxLog is the binary logarithm of the largest domain of the device's transforms; larger ones are ntt.ErrUnavailable.
const MaxLog = 28

// Transform implements ntt.Engine: the vector goes to the device and back.
func (d *Device) Transform(ctx context.Context, dom ntt.Domain, v []fr.Element, dir ntt.Direction, coset ntt.Coset) error {
	if err := dom.Check("v", v); err != nil {
		return err
	}
	if err := checkLog(dom); err != nil {
		return err
	}
	return d.do(ctx, func(cancel *int32) result {
		return d.lib.ntt(d.h, dom.Log(), dir == ntt.Inverse, coset == ntt.Shifted, unsafe.Pointer(&v[0]), cancel)
	})
}

// Quotient implements ntt.Engine. b and c are only read.
func (d *Device) Quotient(ctx context.Context, dom ntt.Domain, a, b, c []fr.Element) error {
	if err := dom.CheckQuotient(a, b, c); err != nil {
		return err
	}
	if err := checkLog(dom); err != nil {
		return err
	}
	return d.do(ctx, func(cancel *int32) result {
		return d.lib.quotient(d.h, dom.Log(), unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0]), cancel)
	})
}

func checkLog(dom ntt.Domain) error {
	if dom.Log() > MaxLog {
		return fmt.Errorf("%w: the device transforms at most 2^%d points, not 2^%d", ntt.ErrUnavailable, MaxLog, dom.Log())
	}
	return nil
}

// G1 implements msm.Engine: points and scalars go to the device, in chunks if they do not fit.
func (d *Device) G1(ctx context.Context, points []bls12381.G1Affine, k msm.Scalars, cfg msm.Config) (bls12381.G1Jac, error) {
	var out bls12381.G1Jac
	err := d.sum(ctx, 1, len(points), unsafe.Pointer(unsafe.SliceData(points)), k, cfg, unsafe.Pointer(&out))
	if err != nil {
		return bls12381.G1Jac{}, err
	}
	return out, nil
}

// G2 implements msm.Engine.
func (d *Device) G2(ctx context.Context, points []bls12381.G2Affine, k msm.Scalars, cfg msm.Config) (bls12381.G2Jac, error) {
	var out bls12381.G2Jac
	err := d.sum(ctx, 2, len(points), unsafe.Pointer(unsafe.SliceData(points)), k, cfg, unsafe.Pointer(&out))
	if err != nil {
		return bls12381.G2Jac{}, err
	}
	return out, nil
}

func (d *Device) sum(ctx context.Context, group, n int, points unsafe.Pointer, k msm.Scalars, cfg msm.Config, out unsafe.Pointer) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	if err := k.Check(n); err != nil {
		return err
	}
	args := &sumArgs{n: n, points: points, window: cfg.WindowBits}
	if k.Bits != nil {
		args.bits = unsafe.Pointer(unsafe.SliceData(k.Bits))
		args.scalars = unsafe.Pointer(unsafe.SliceData(k.Tail))
		args.tails = len(k.Tail)
		args.tailAt = unsafe.Pointer(unsafe.SliceData(k.TailAt))
	} else {
		args.scalars = unsafe.Pointer(unsafe.SliceData(k.Dense))
	}
	return d.do(ctx, func(cancel *int32) result { return d.lib.msm(d.h, group, args, out, cancel) })
}
