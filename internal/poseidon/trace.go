package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// TraceLen is the number of values that Trace writes: the private variables of the deployed circuit for one permutation.
func (p *Params) TraceLen() int { return 3*(p.T-1) + 4*(7*p.T+p.RP) + 1 }

// Trace computes the hash of in (length T-1) and writes to out (length at least TraceLen) every intermediate value that the
// deployed circuit allocates, in its order: for each S-box its input where that is a linear combination, the square, the fourth
// power, the fifth power plus the next constant; at the end the hash itself, which is also returned. It does not allocate.
func (p *Params) Trace(tag fr.Element, in, out []fr.Element) fr.Element {
	t := p.T
	var a, b [MaxArity + 1]fr.Element
	s, next := a[:t], b[:t]
	out = out[:p.TraceLen()]
	n := 0
	k := p.CRC[t:]
	s[0].Add(&tag, &p.CRC[0])
	sbox(&s[0], &k[0])
	for i := 1; i < t; i++ {
		s[i].Add(&in[i-1], &p.CRC[i])
		traceSbox(&s[i], &k[i], out[n:n+3:n+3])
		n += 3
	}
	mix(next, s, p.mT)
	s, next = next, s
	k = k[t:]
	full := func(cols []fr.Element) {
		for i := range s {
			out[n] = s[i]
			traceSbox(&s[i], &k[i], out[n+1:n+4:n+4])
			n += 4
		}
		k = k[t:]
		mix(next, s, cols)
		s, next = next, s
	}
	full(p.mT)
	full(p.mT)
	full(p.preT)
	for r := range p.Sparse {
		out[n] = s[0]
		traceSbox(&s[0], &k[r], out[n+1:n+4:n+4])
		n += 4
		p.Sparse[r].apply(s)
	}
	k = k[p.RP:]
	for r := 0; r < halfFull-1; r++ {
		full(p.mT)
	}
	var zero fr.Element
	for i := range s {
		out[n] = s[i]
		traceSbox(&s[i], &zero, out[n+1:n+4:n+4])
		n += 4
	}
	out[n] = dot(s, p.mT[t:2*t])
	return out[n]
}

// apply multiplies the row vector s by the sparse matrix.
func (m *Sparse) apply(s []fr.Element) {
	x := s[0]
	s[0] = dot(s, m.W)
	v := m.V[:len(s)-1]
	for j := range v {
		var y fr.Element
		y.Mul(&x, &v[j])
		s[j+1].Add(&s[j+1], &y)
	}
}

// traceSbox writes x^2, x^4 and x^5 + post to out and leaves the last in x.
func traceSbox(x, post *fr.Element, out []fr.Element) {
	out[0].Square(x)
	out[1].Square(&out[0])
	x.Mul(x, &out[1])
	x.Add(x, post)
	out[2] = *x
}
