package aggregate

import (
	"context"
	"math/big"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/internal/par"
)

// equation is Π e(Σ k·P, Q) = Π g^k, collected from several that were weighted.
type equation struct {
	left  []g1Term
	right []gtPower
}

// g1Term is e(Σ k·P, Q).
type g1Term struct {
	q   bls12381.G2Affine
	sum []g1Scaled
}

type g1Scaled struct {
	p bls12381.G1Affine
	k fr.Element
}

// pair adds a factor to the left side. Factors with the same point of G2 become one.
func (e *equation) pair(t g1Term) {
	for i := range e.left {
		if e.left[i].q == t.q {
			e.left[i].sum = append(e.left[i].sum, t.sum...)
			return
		}
	}
	e.left = append(e.left, t)
}

// power multiplies the right side by g to the product of the exponents.
func (e *equation) power(g bls12381.GT, exponents ...fr.Element) {
	k := fr.One()
	for i := range exponents {
		k.Mul(&k, &exponents[i])
	}
	for i := range e.right {
		if e.right[i].g == g {
			e.right[i].k.Add(&e.right[i].k, &k)
			return
		}
	}
	e.right = append(e.right, gtPower{g, k})
}

// holds evaluates both sides.
func (e *equation) holds(ctx context.Context) (bool, error) {
	p := make([]bls12381.G1Affine, len(e.left))
	q := make([]bls12381.G2Affine, len(e.left))
	err := par.Do(ctx, 0, len(e.left), func(_, i int) error {
		var k big.Int
		var sum, t bls12381.G1Jac
		for _, s := range e.left[i].sum {
			t.FromAffine(&s.p)
			sum.AddAssign(t.ScalarMultiplication(&t, s.k.BigInt(&k)))
		}
		p[i].FromJacobian(&sum)
		q[i] = e.left[i].q
		return nil
	})
	if err != nil {
		return false, err
	}
	left, err := products(ctx, []pairs{{p, q}})
	if err != nil {
		return false, err
	}
	right, err := productOfPowers(ctx, e.right)
	return err == nil && left[0].Equal(&right), err
}
