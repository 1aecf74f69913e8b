package msm

import (
	"math/big"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// curve is what the sums need to know of a group: P is its affine point (infinity is
// all zero), J its Jacobian point (infinity is the zero value, too: Z = 0).
type curve[P, J any] struct {
	infinite func(*P) bool
	neg      func(dst, src *P)
	addMixed func(*J, *P)
	add      func(*J, *J)
	double   func(*J)
	mul      func(*P, *big.Int) J
	multiExp func(*J, []P, []fr.Element, ecc.MultiExpConfig) (*J, error)
	infinity func() J
	// newAdder makes the scratch of one worker.
	newAdder func() adder[P]
	// slice is how many points a worker takes through a tree at once.
	slice int
	// trees keeps the workers' scratch between sums.
	trees sync.Pool
}

// curves that sums use, one for each kernel, with their scratch.
var (
	g1Curves = [...]func() *curve[bls12381.G1Affine, bls12381.G1Jac]{
		sync.OnceValue(func() *curve[bls12381.G1Affine, bls12381.G1Jac] { return g1Curve(haveIFMA()) }),
		sync.OnceValue(func() *curve[bls12381.G1Affine, bls12381.G1Jac] { return g1Curve(false) }),
	}
	g2Curves = [...]func() *curve[bls12381.G2Affine, bls12381.G2Jac]{
		sync.OnceValue(func() *curve[bls12381.G2Affine, bls12381.G2Jac] { return g2Curve(haveIFMA()) }),
		sync.OnceValue(func() *curve[bls12381.G2Affine, bls12381.G2Jac] { return g2Curve(false) }),
	}
)

// choose picks from a pair above.
func choose[T any](pair [2]func() T, k Kernel) T {
	if k == KernelGeneric {
		return pair[1]()
	}
	return pair[0]()
}

// An entry names a point with its sign: index<<1, plus 1 for the negative.
type entry = uint32

// maxPoints bounds the points of a call, so that an entry holds any index.
const maxPoints = 1 << 31

// adder adds pairs of points, with scratch of its own.
type adder[P any] struct {
	// add does dst[out[i]] = src[a[i]] + src[b[i]], by entries a and b. dst and src do not
	// overlap; out has no index twice. clean promises that no point of src is infinity; the
	// result says whether that holds for what was written to dst.
	add func(dst, src []P, a, b []entry, out []uint32, clean bool) bool
	// canonical finishes a result of add for the use of others than add.
	canonical func(p *P)
}

func g1Curve(ifma bool) *curve[bls12381.G1Affine, bls12381.G1Jac] {
	type P = bls12381.G1Affine
	type J = bls12381.G1Jac
	c := &curve[P, J]{
		infinite: func(p *P) bool { return p.IsInfinity() },
		neg:      func(dst, src *P) { dst.Neg(src) },
		addMixed: func(j *J, p *P) { j.AddMixed(p) },
		add:      func(j, q *J) { j.AddAssign(q) },
		double:   func(j *J) { j.DoubleAssign() },
		mul: func(p *P, s *big.Int) J {
			var j J
			j.FromAffine(p)
			j.ScalarMultiplication(&j, s)
			return j
		},
		multiExp: (*J).MultiExp,
		infinity: func() J { var j J; j.FromAffine(new(P)); return j },
		newAdder: func() adder[P] { return newG1Generic() },
		slice:    1 << 14,
	}
	if ifma {
		c.newAdder = newG1IFMA
	}
	return c
}

func g2Curve(ifma bool) *curve[bls12381.G2Affine, bls12381.G2Jac] {
	type P = bls12381.G2Affine
	type J = bls12381.G2Jac
	c := &curve[P, J]{
		infinite: func(p *P) bool { return p.IsInfinity() },
		neg:      func(dst, src *P) { dst.Neg(src) },
		addMixed: func(j *J, p *P) { j.AddMixed(p) },
		add:      func(j, q *J) { j.AddAssign(q) },
		double:   func(j *J) { j.DoubleAssign() },
		mul: func(p *P, s *big.Int) J {
			var j J
			j.FromAffine(p)
			j.ScalarMultiplication(&j, s)
			return j
		},
		multiExp: (*J).MultiExp,
		infinity: func() J { var j J; j.FromAffine(new(P)); return j },
		newAdder: func() adder[P] { return newG2Generic() },
		slice:    1 << 13,
	}
	if ifma {
		c.newAdder = newG2IFMA
	}
	return c
}
