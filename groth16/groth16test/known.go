package groth16test

import (
	"context"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
)

// Known computes, by field arithmetic from the rows and the trapdoor alone, the scalars that the five sums are of the
// standard generators: with A, B, C the polynomials at tau of the rows' values over the whole assignment and A', B', C'
// those over its aux part,
//
//	A, B = A, B      H = (A·B - C)/delta      L = (beta·A' + alpha·B' + C')/delta
//
// for an assignment that satisfies the system.
func Known(ctx context.Context, sys *synth.System, a *synth.Assignment, t *groth16.Trapdoor) (h, l, sa, sb fr.Element, err error) {
	var whole, aux [3]fr.Element
	lag := newLagrange(sys.DomainSize(), &t.Tau)
	coeffs := sys.Coeffs()
	err = sys.EachRow(ctx, 0, sys.Rows(), func(_ int, abc [3][]synth.RowTerm) error {
		at := lag.next()
		for k := range abc {
			for _, term := range abc[k] {
				v := a.Value(term.Var)
				v.Mul(&v, &coeffs[term.Coef])
				v.Mul(&v, &at)
				whole[k].Add(&whole[k], &v)
				if !term.Var.IsInput() {
					aux[k].Add(&aux[k], &v)
				}
			}
		}
		return nil
	})
	if err != nil {
		return
	}
	for i := range a.Inputs {
		at := lag.next()
		at.Mul(&at, &a.Inputs[i])
		whole[0].Add(&whole[0], &at)
	}
	var x fr.Element
	h.Mul(&whole[0], &whole[1])
	h.Sub(&h, &whole[2])
	h.Div(&h, &t.Delta)
	l.Mul(&t.Beta, &aux[0])
	l.Add(&l, x.Mul(&t.Alpha, &aux[1]))
	l.Add(&l, &aux[2])
	l.Div(&l, &t.Delta)
	return h, l, whole[0], whole[1], nil
}

// lagrange gives the Lagrange polynomials at tau one after the other, by their definition.
type lagrange struct{ factor, omega, x, tau fr.Element }

func newLagrange(m int, tau *fr.Element) *lagrange {
	l := &lagrange{tau: *tau}
	// omega = 7^((r-1)/m)
	e := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	e.Div(e, big.NewInt(int64(m)))
	seven, one := fr.NewElement(7), fr.One()
	l.omega.Exp(seven, e)
	l.x.SetOne()
	l.factor.Exp(*tau, big.NewInt(int64(m)))
	l.factor.Sub(&l.factor, &one)
	size := fr.NewElement(uint64(m))
	l.factor.Div(&l.factor, &size)
	return l
}

func (l *lagrange) next() (v fr.Element) {
	var d fr.Element
	d.Sub(&l.tau, &l.x)
	v.Mul(&l.factor, &l.x)
	v.Div(&v, &d)
	l.x.Mul(&l.x, &l.omega)
	return v
}

// Expected are the sums that a correct backend gives.
func Expected(ctx context.Context, sys *synth.System, a *synth.Assignment, t *groth16.Trapdoor) (s groth16.Sums, err error) {
	h, l, sa, sb, err := Known(ctx, sys, a, t)
	if err != nil {
		return s, err
	}
	g1, g2, _, _ := bls12381.Generators()
	for _, x := range []struct {
		to *bls12381.G1Jac
		k  *fr.Element
	}{{&s.H, &h}, {&s.L, &l}, {&s.A, &sa}, {&s.B1, &sb}} {
		x.to.ScalarMultiplication(&g1, x.k.BigInt(new(big.Int)))
	}
	s.B2.ScalarMultiplication(&g2, sb.BigInt(new(big.Int)))
	return s, nil
}
