package poseidon

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Hash is the package function Hash with the constants at hand; len(in) must be T-1.
func (p *Params) Hash(tag fr.Element, in []fr.Element) fr.Element {
	if len(in) != p.T-1 {
		panic("poseidon: preimage length differs from the arity of the constants")
	}
	t := p.T
	var a, b [MaxArity + 1]fr.Element
	s, next := a[:t], b[:t]
	s[0].Add(&tag, &p.CRC[0])
	for i := 1; i < t; i++ {
		s[i].Add(&in[i-1], &p.CRC[i])
	}
	k := p.CRC[t:]
	for r := 0; r < halfFull; r++ {
		for i := range s {
			sbox(&s[i], &k[i])
		}
		k = k[t:]
		mat := p.mT
		if r == halfFull-1 {
			mat = p.preT
		}
		mix(next, s, mat)
		s, next = next, s
	}
	for r := range p.Sparse {
		sbox(&s[0], &k[r])
		m := &p.Sparse[r]
		x := s[0]
		s[0] = dot(s, m.W)
		v := m.V[:t-1]
		for j := range v {
			var y fr.Element
			y.Mul(&x, &v[j])
			s[j+1].Add(&s[j+1], &y)
		}
	}
	k = k[p.RP:]
	for r := 0; r < halfFull-1; r++ {
		for i := range s {
			sbox(&s[i], &k[i])
		}
		k = k[t:]
		mix(next, s, p.mT)
		s, next = next, s
	}
	var zero fr.Element
	for i := range s {
		sbox(&s[i], &zero)
	}
	return dot(s, p.mT[t:2*t])
}

func sbox(x, post *fr.Element) {
	var q fr.Element
	q.Square(x)
	q.Square(&q)
	x.Mul(x, &q)
	x.Add(x, post)
}

// mix sets dst[j] to the inner product of src and column j.
func mix(dst, src, cols []fr.Element) {
	t := len(src)
	for j := range dst {
		dst[j] = dot(src, cols[j*t:(j+1)*t])
	}
}

const (
	q0 = 0xffffffff00000001
	q1 = 0x53bda402fffe5bfe
	q2 = 0x3339d80809a1d805
	q3 = 0x73eda753299d7d48
	// qNegInv = -1/r mod 2^64
	qNegInv = 0xfffffffeffffffff
)

// dotGeneric is dot without special instructions: products are summed by columns of 64 bits, the multiples of the modulus are added
// on the way (product scanning).
func dotGeneric(a, b []fr.Element) fr.Element {
	b = b[:len(a)]
	var c0, c1, c2 uint64
	mac := func(x, y uint64) {
		hi, lo := bits.Mul64(x, y)
		var c uint64
		c0, c = bits.Add64(c0, lo, 0)
		c1, c = bits.Add64(c1, hi, c)
		c2 += c
	}
	for i := range a {
		mac(a[i][0], b[i][0])
	}
	m0 := c0 * qNegInv
	mac(m0, q0)
	c0, c1, c2 = c1, c2, 0
	for i := range a {
		mac(a[i][0], b[i][1])
		mac(a[i][1], b[i][0])
	}
	mac(m0, q1)
	m1 := c0 * qNegInv
	mac(m1, q0)
	c0, c1, c2 = c1, c2, 0
	for i := range a {
		mac(a[i][0], b[i][2])
		mac(a[i][1], b[i][1])
		mac(a[i][2], b[i][0])
	}
	mac(m0, q2)
	mac(m1, q1)
	m2 := c0 * qNegInv
	mac(m2, q0)
	c0, c1, c2 = c1, c2, 0
	for i := range a {
		mac(a[i][0], b[i][3])
		mac(a[i][1], b[i][2])
		mac(a[i][2], b[i][1])
		mac(a[i][3], b[i][0])
	}
	mac(m0, q3)
	mac(m1, q2)
	mac(m2, q1)
	m3 := c0 * qNegInv
	mac(m3, q0)
	c0, c1, c2 = c1, c2, 0
	var z fr.Element
	for i := range a {
		mac(a[i][1], b[i][3])
		mac(a[i][2], b[i][2])
		mac(a[i][3], b[i][1])
	}
	mac(m1, q3)
	mac(m2, q2)
	mac(m3, q1)
	z[0] = c0
	c0, c1, c2 = c1, c2, 0
	for i := range a {
		mac(a[i][2], b[i][3])
		mac(a[i][3], b[i][2])
	}
	mac(m2, q3)
	mac(m3, q2)
	z[1] = c0
	c0, c1, c2 = c1, c2, 0
	for i := range a {
		mac(a[i][3], b[i][3])
	}
	mac(m3, q3)
	z[2], z[3] = c0, c1
	return reduce(z, c2)
}

// reduce brings z + top*2^256, at most some 18 times the modulus, below it.
func reduce(z fr.Element, top uint64) fr.Element {
	for {
		var d fr.Element
		var c uint64
		d[0], c = bits.Sub64(z[0], q0, 0)
		d[1], c = bits.Sub64(z[1], q1, c)
		d[2], c = bits.Sub64(z[2], q2, c)
		d[3], c = bits.Sub64(z[3], q3, c)
		if top < c {
			return z
		}
		top -= c
		z = d
	}
}
