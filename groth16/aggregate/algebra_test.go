package aggregate

import (
	"bufio"
	"bytes"
	"context"
	"math/big"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func newBufio(b []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(b)) }

func horner(f []fr.Element, x fr.Element) (y fr.Element) {
	for i := len(f) - 1; i >= 0; i-- {
		y.Mul(&y, &x).Add(&y, &f[i])
	}
	return y
}

// TestChainPolynomial: the product form, the coefficients and the fold of the powers of x are one polynomial.
func TestChainPolynomial(t *testing.T) {
	f := forger{counter: 7000}
	for l := 1; l < 8; l++ {
		k := make([]fr.Element, l)
		for i := range k {
			k[i] = f.next()
		}
		x, scale := f.next(), f.next()
		list := coefficients(k, scale)
		require.Len(t, list, 1<<l)
		var sx fr.Element
		sx.Mul(&scale, &x)
		require.Equal(t, evalChain(k, sx), horner(list, x))

		v := powers(x, 1<<l) // fold as the rounds do: left + k·right
		for i := range k {
			h := len(v) / 2
			for j := range h {
				var t fr.Element
				v[j].Add(&v[j], t.Mul(&k[i], &v[h+j]))
			}
			v = v[:h]
		}
		require.Equal(t, v[0], evalChain(k, x))
	}
}

// TestQuotient: f(x) = q(x)·(x - z) + f(z).
func TestQuotient(t *testing.T) {
	f := forger{counter: 8000}
	for n := 2; n < 40; n++ {
		list := make([]fr.Element, n)
		for i := range list {
			list[i] = f.next()
		}
		z, x := f.next(), f.next()
		q := quotient(list, z)
		require.Len(t, q, n-1)
		y, d := horner(q, x), x
		d.Sub(&d, &z)
		y.Mul(&y, &d)
		at := horner(list, z)
		y.Add(&y, &at)
		require.Equal(t, horner(list, x), y)
	}
}

// TestProducts: Π e(a_k·G, b_k·H) = e(G, H)^(Σ a_k·b_k), over the boundaries of the chunks, with points at infinity.
func TestProducts(t *testing.T) {
	_, _, g, h := bls12381.Generators()
	e, err := bls12381.Pair([]bls12381.G1Affine{g}, []bls12381.G2Affine{h})
	require.NoError(t, err)
	f := forger{counter: 9000}
	var factors [][]pairs
	var want []bls12381.GT
	for _, sizes := range [][]int{{}, {1}, {31, 1}, {32}, {33}, {20, 0, 45}, {64, 1}} {
		var product []pairs
		var sum fr.Element
		for _, n := range sizes {
			var part pairs
			for k := range n {
				a, b := f.next(), f.next()
				if k%11 == 5 {
					a.SetZero()
				}
				if k%13 == 7 {
					b.SetZero()
				}
				part.p, part.q = append(part.p, g1(a)), append(part.q, g2(b))
				a.Mul(&a, &b)
				sum.Add(&sum, &a)
			}
			product = append(product, part)
		}
		factors = append(factors, product)
		var x bls12381.GT
		want = append(want, *x.CyclotomicExp(e, sum.BigInt(new(big.Int))))
	}
	got, err := products(context.Background(), factors...)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestSums compares folds, scalings and sums with the discrete logarithms.
func TestSums(t *testing.T) {
	ctx := context.Background()
	f := forger{counter: 10000}
	const n = 70
	x, k := make([]fr.Element, 2*n), make([]fr.Element, 2*n)
	p, q := make([]bls12381.G1Affine, 2*n), make([]bls12381.G2Affine, 2*n)
	for i := range x {
		x[i], k[i] = f.next(), f.next()
		p[i], q[i] = g1(x[i]), g2(x[i])
	}
	x[3].SetZero()
	p[3], q[3] = bls12381.G1Affine{}, bls12381.G2Affine{}
	c := f.next()
	lo1, err := foldG1(ctx, p[:n], p[n:], c)
	require.NoError(t, err)
	lo2, err := foldG2(ctx, q[:n], q[n:], c)
	require.NoError(t, err)
	s1, err := scaleG1(ctx, p, k)
	require.NoError(t, err)
	s2, err := scaleG2(ctx, q, k)
	require.NoError(t, err)
	var sum, y fr.Element
	for i := range n {
		y.Mul(&c, &x[n+i]).Add(&y, &x[i])
		require.Equal(t, g1(y), lo1[i])
		require.Equal(t, g2(y), lo2[i])
	}
	for i := range x {
		y.Mul(&k[i], &x[i])
		require.Equal(t, g1(y), s1[i])
		require.Equal(t, g2(y), s2[i])
		if i < n {
			sum.Add(&sum, &y)
		}
	}
	got1, err := sumG1(ctx, p, k[:n])
	require.NoError(t, err)
	require.Equal(t, g1(sum), got1)
	got2, err := sumG2(ctx, q, k[:n])
	require.NoError(t, err)
	require.Equal(t, g2(sum), got2)

	// Longer than a chunk, with every point many times.
	var p1 []bls12381.G1Affine
	var q1 []bls12381.G2Affine
	var long []fr.Element
	sum.SetZero()
	for i := range msmChunk + 5 {
		j := i % len(x)
		p1, q1, long = append(p1, p[j]), append(q1, q[j]), append(long, k[(i*7)%len(k)])
		sum.Add(&sum, y.Mul(&long[i], &x[j]))
	}
	got1, err = sumG1(ctx, p1, long)
	require.NoError(t, err)
	require.Equal(t, g1(sum), got1)
	got2, err = sumG2(ctx, q1, long)
	require.NoError(t, err)
	require.Equal(t, g2(sum), got2)
}

// TestProductOfPowers: Π (e^x)^k = e^(Σ x·k), with the exponents 0, 1, r-1 and 2^254 among them.
func TestProductOfPowers(t *testing.T) {
	_, _, g, h := bls12381.Generators()
	e, err := bls12381.Pair([]bls12381.G1Affine{g}, []bls12381.G2Affine{h})
	require.NoError(t, err)
	f := forger{counter: 11000}
	special := make([]fr.Element, 5)
	special[1].SetOne()
	special[2].SetOne().Neg(&special[2])
	special[3].SetBigInt(new(big.Int).Lsh(big.NewInt(1), 254))
	special[4].SetUint64(0xffff_ffff_ffff_ffff)
	for _, n := range []int{0, 1, 15, 16, 17, 40} {
		var list []gtPower
		var sum fr.Element
		for i := range n {
			x, k := f.next(), f.next()
			if i < len(special) {
				k = special[i]
			}
			var p gtPower
			p.g.CyclotomicExp(e, x.BigInt(new(big.Int)))
			p.k = k
			list = append(list, p)
			x.Mul(&x, &k)
			sum.Add(&sum, &x)
		}
		var want bls12381.GT
		want.CyclotomicExp(e, sum.BigInt(new(big.Int)))
		got, err := productOfPowers(context.Background(), list)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestSignedDigits: the digits add up to the scalar, and keep to their form.
func TestSignedDigits(t *testing.T) {
	f := forger{counter: 12000}
	list := make([]fr.Element, 3, 203)
	list[1].SetOne()
	list[2].SetOne().Neg(&list[2])
	for range 200 {
		list = append(list, f.next())
	}
	for _, k := range list {
		sum, two := fr.Element{}, fr.NewElement(2)
		d := signedDigits(k)
		for i := len(d) - 1; i >= 0; i-- {
			var x fr.Element
			x.SetInt64(int64(d[i]))
			sum.Mul(&sum, &two).Add(&sum, &x)
			require.True(t, d[i] == 0 || d[i]%2 != 0 && d[i] > -16 && d[i] < 16)
		}
		require.Equal(t, k, sum)
	}
}
