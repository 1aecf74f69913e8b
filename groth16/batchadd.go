package groth16

// coord is the arithmetic of a coordinate field: fp.Element or bls12381.E2.
type coord[E any] interface {
	*E
	Add(a, b *E) *E
	Sub(a, b *E) *E
	Mul(a, b *E) *E
	Square(a *E) *E
	Double(a *E) *E
	Neg(a *E) *E
	Inverse(a *E) *E
	SetOne() *E
	IsZero() bool
	Equal(a *E) bool
}

// affine has the layout of G1Affine or G2Affine; (0, 0) is infinity.
type affine[E any] struct{ X, Y E }

// adder collects additions to distinct points and does them with one inversion.
type adder[E any, F coord[E]] struct {
	job []addJob[E]
}

type addJob[E any] struct {
	p             *affine[E]
	q             affine[E]
	den, num, pre E
	negate        bool
}

func (s *adder[E, F]) reset(n int) {
	if cap(s.job) < n {
		s.job = make([]addJob[E], 0, n)
	}
	s.job = s.job[:0]
}

// isInfinity: no point of the curve has order two, so that y = 0 is infinity alone.
func isInfinity[E any, F coord[E]](p *affine[E]) bool { return F(&p.Y).IsZero() }

// add notes p += q (or p -= q) for a finite q; p must not be used before flush. Copying q here, apart from the arithmetic,
// lets the cache misses on the table overlap.
func (s *adder[E, F]) add(p, q *affine[E], negate bool) {
	n := len(s.job)
	s.job = s.job[:n+1]
	j := &s.job[n]
	j.p, j.q, j.negate = p, *q, negate
}

// flush does the noted additions. Infinite, equal and opposite points are dealt with.
func (s *adder[E, F]) flush() {
	var acc, inv, l, x, t E
	F(&acc).SetOne()
	for i := range s.job {
		j := &s.job[i]
		if !prepare[E, F](j) {
			j.p = nil
			continue
		}
		j.pre = acc
		F(&acc).Mul(&acc, &j.den)
	}
	F(&inv).Inverse(&acc)
	for i := len(s.job) - 1; i >= 0; i-- {
		j := &s.job[i]
		if j.p == nil {
			continue
		}
		F(&l).Mul(&inv, &j.pre)
		F(&inv).Mul(&inv, &j.den)
		F(&l).Mul(&l, &j.num)
		F(&x).Square(&l)
		F(&x).Sub(&x, &j.p.X)
		F(&x).Sub(&x, &j.q.X)
		F(&t).Sub(&j.p.X, &x)
		F(&t).Mul(&t, &l)
		F(&j.p.Y).Sub(&t, &j.p.Y)
		j.p.X = x
	}
	s.job = s.job[:0]
}

// prepare sets the slope's numerator and denominator; it is false where the sum is known already.
func prepare[E any, F coord[E]](j *addJob[E]) bool {
	if j.negate {
		F(&j.q.Y).Neg(&j.q.Y)
	}
	if isInfinity[E, F](j.p) {
		*j.p = j.q
		return false
	}
	F(&j.den).Sub(&j.q.X, &j.p.X)
	if !F(&j.den).IsZero() {
		F(&j.num).Sub(&j.q.Y, &j.p.Y)
		return true
	}
	if !F(&j.q.Y).Equal(&j.p.Y) {
		*j.p = affine[E]{}
		return false
	}
	var t E
	F(&j.den).Double(&j.p.Y)
	F(&t).Square(&j.p.X)
	F(&j.num).Double(&t)
	F(&j.num).Add(&j.num, &t)
	return true
}
