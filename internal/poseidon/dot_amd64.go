//go:build !purego

package poseidon

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sys/cpu"
)

var hasADX = cpu.X86.HasADX && cpu.X86.HasBMI2

//go:noescape
func dotADX(z *[5]uint64, a, b *fr.Element, n int)

// dot returns the inner product of two vectors of the same length, at most 2*MaxArity, with one Montgomery reduction in all.
func dot(a, b []fr.Element) fr.Element {
	if !hasADX || len(a) == 0 {
		return dotGeneric(a, b)
	}
	b = b[:len(a)]
	var z [5]uint64
	dotADX(&z, &a[0], &b[0], len(a))
	return reduceFew(&z)
}

// multiples of the modulus
var multiples = func() (t [2*MaxArity + 2][5]uint64) {
	q := [4]uint64{q0, q1, q2, q3}
	for i := 1; i < len(t); i++ {
		var c uint64
		for j := range q {
			t[i][j], c = bits.Add64(t[i-1][j], q[j], c)
		}
		t[i][4] = t[i-1][4] + c
	}
	return t
}()

// reduceFew brings z, at most MaxArity+1 times the modulus, below it. The quotient is estimated from the bits from 248 on: the
// modulus has 115.93 there, and 2^16/565 = 115.99, so that the estimate is right or one too low.
func reduceFew(z *[5]uint64) fr.Element {
	m := &multiples[min((z[4]<<8|z[3]>>56)*565>>16, uint64(len(multiples)-1))]
	var e, d fr.Element
	var c uint64
	e[0], c = bits.Sub64(z[0], m[0], 0)
	e[1], c = bits.Sub64(z[1], m[1], c)
	e[2], c = bits.Sub64(z[2], m[2], c)
	e[3], _ = bits.Sub64(z[3], m[3], c)
	d[0], c = bits.Sub64(e[0], q0, 0)
	d[1], c = bits.Sub64(e[1], q1, c)
	d[2], c = bits.Sub64(e[2], q2, c)
	d[3], c = bits.Sub64(e[3], q3, c)
	if c == 0 {
		return d
	}
	return e
}
