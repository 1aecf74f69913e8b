package faulty

import (
	"context"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/ntt"
)

// MSM is an msm.Engine that wraps another one.
type MSM struct {
	Counter
	inner msm.Engine
}

// NewMSM wraps inner; the faults are those of G1 and G2. A wrong sum has the generator added.
func NewMSM(inner msm.Engine, faults ...Fault) (*MSM, error) {
	if inner == nil {
		return nil, fmt.Errorf("%w: nothing to wrap", ErrConfig)
	}
	e := &MSM{inner: inner}
	return e, e.SetFaults(faults...)
}

// G1 implements msm.Engine.
func (e *MSM) G1(ctx context.Context, points []bls12381.G1Affine, k msm.Scalars, cfg msm.Config) (bls12381.G1Jac, error) {
	wrong, err := e.enter(ctx, G1)
	if err != nil {
		return bls12381.G1Jac{}, err
	}
	s, err := e.inner.G1(ctx, points, k, cfg)
	if wrong && err == nil {
		g, _, _, _ := bls12381.Generators()
		s.AddAssign(&g)
	}
	return s, err
}

// G2 implements msm.Engine.
func (e *MSM) G2(ctx context.Context, points []bls12381.G2Affine, k msm.Scalars, cfg msm.Config) (bls12381.G2Jac, error) {
	wrong, err := e.enter(ctx, G2)
	if err != nil {
		return bls12381.G2Jac{}, err
	}
	s, err := e.inner.G2(ctx, points, k, cfg)
	if wrong && err == nil {
		_, g, _, _ := bls12381.Generators()
		s.AddAssign(&g)
	}
	return s, err
}

// NTT is an ntt.Engine that wraps another one.
type NTT struct {
	Counter
	inner ntt.Engine
}

// NewNTT wraps inner; the faults are those of Transform and Quotient. A wrong result has one added to its first element.
func NewNTT(inner ntt.Engine, faults ...Fault) (*NTT, error) {
	if inner == nil {
		return nil, fmt.Errorf("%w: nothing to wrap", ErrConfig)
	}
	e := &NTT{inner: inner}
	return e, e.SetFaults(faults...)
}

// Transform implements ntt.Engine.
func (e *NTT) Transform(ctx context.Context, d ntt.Domain, v []fr.Element, dir ntt.Direction, coset ntt.Coset) error {
	wrong, err := e.enter(ctx, Transform)
	if err != nil {
		return err
	}
	return spoil(v, wrong, e.inner.Transform(ctx, d, v, dir, coset))
}

// Quotient implements ntt.Engine.
func (e *NTT) Quotient(ctx context.Context, d ntt.Domain, a, b, c []fr.Element) error {
	wrong, err := e.enter(ctx, Quotient)
	if err != nil {
		return err
	}
	return spoil(a, wrong, e.inner.Quotient(ctx, d, a, b, c))
}

func spoil(v []fr.Element, wrong bool, err error) error {
	if wrong && err == nil && len(v) > 0 {
		one := fr.One()
		v[0].Add(&v[0], &one)
	}
	return err
}
