package msm

import (
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// field is what affine addition needs of gnark-crypto's field elements.
type field[F any] interface {
	*F
	Add(a, b *F) *F
	Sub(a, b *F) *F
	Mul(a, b *F) *F
	Square(a *F) *F
	Double(a *F) *F
	Neg(a *F) *F
	Inverse(a *F) *F
	SetOne() *F
	IsZero() bool
}

// point has the layout of gnark-crypto's affine points of coordinates F.
type point[F any] struct{ X, Y F }

// genericBatch is how many additions share one inversion.
const genericBatch = 512

// genericAdder adds with Montgomery's trick: it multiplies the denominators of a batch
// together, inverts the product, and takes each inverse out of it.
type genericAdder[P, F any, PF field[F]] struct {
	p, q        [genericBatch]point[F] // copied in one go: the processor overlaps the misses
	den, prefix [genericBatch]F
	special     [genericBatch]bool
}

func newG1Generic() adder[bls12381.G1Affine] {
	return newGeneric[bls12381.G1Affine, fp.Element, *fp.Element]()
}

func newG2Generic() adder[bls12381.G2Affine] {
	return newGeneric[bls12381.G2Affine, bls12381.E2, *bls12381.E2]()
}

func newGeneric[P, F any, PF field[F]]() adder[P] {
	g := &genericAdder[P, F, PF]{}
	return adder[P]{add: g.add, canonical: func(*P) {}}
}

// coordinates views points through their coordinates.
func coordinates[P, F any](points []P) []point[F] {
	if unsafe.Sizeof(*new(P)) != unsafe.Sizeof(*new(point[F])) {
		panic("msm: affine points are not two coordinates")
	}
	return unsafe.Slice((*point[F])(unsafe.Pointer(unsafe.SliceData(points))), len(points))
}

func (g *genericAdder[P, F, PF]) add(dst, src []P, a, b []entry, out []uint32, _ bool) bool {
	d, s := coordinates[P, F](dst), coordinates[P, F](src)
	clean := true
	for len(a) > 0 {
		n := min(len(a), genericBatch)
		clean = g.batch(d, s, a[:n], b[:n], out[:n]) && clean
		a, b, out = a[n:], b[n:], out[n:]
	}
	return clean
}

func (g *genericAdder[P, F, PF]) batch(dst, src []point[F], a, b []entry, out []uint32) bool {
	for i := range a {
		g.p[i], g.q[i] = src[a[i]>>1], src[b[i]>>1]
	}
	var acc F
	PF(&acc).SetOne()
	clean := true
	for i := range a {
		p, q := &g.p[i], &g.q[i]
		if a[i]&1 != 0 {
			PF(&p.Y).Neg(&p.Y)
		}
		if b[i]&1 != 0 {
			PF(&q.Y).Neg(&q.Y)
		}
		g.prefix[i] = acc
		PF(&g.den[i]).Sub(&q.X, &p.X)
		g.special[i] = PF(&g.den[i]).IsZero() || isInfinite[F, PF](p) || isInfinite[F, PF](q)
		if g.special[i] {
			dst[out[i]] = addSpecial[F, PF](*p, *q)
			clean = clean && !isInfinite[F, PF](&dst[out[i]])
			continue
		}
		PF(&acc).Mul(&acc, &g.den[i])
	}
	PF(&acc).Inverse(&acc)
	for i := len(a) - 1; i >= 0; i-- {
		if g.special[i] {
			continue
		}
		var lambda F
		p, q := &g.p[i], &g.q[i]
		PF(&g.prefix[i]).Mul(&g.prefix[i], &acc)
		PF(&acc).Mul(&acc, &g.den[i])
		PF(&lambda).Sub(&q.Y, &p.Y)
		PF(&lambda).Mul(&lambda, &g.prefix[i])
		chord[F, PF](&dst[out[i]], p, &q.X, &lambda)
	}
	return clean
}

// chord sets dst to the third point, negated, of the line of slope lambda through p and
// the point of abscissa qx.
func chord[F any, PF field[F]](dst, p *point[F], qx, lambda *F) {
	x, y := &dst.X, &dst.Y
	PF(x).Square(lambda)
	PF(x).Sub(x, &p.X)
	PF(x).Sub(x, qx)
	PF(y).Sub(&p.X, x)
	PF(y).Mul(y, lambda)
	PF(y).Sub(y, &p.Y)
}

func isInfinite[F any, PF field[F]](p *point[F]) bool {
	return PF(&p.X).IsZero() && PF(&p.Y).IsZero()
}

// signed returns p, or -p if e is a negative entry.
func signed[F any, PF field[F]](p *point[F], e entry) point[F] {
	q := *p
	if e&1 != 0 {
		PF(&q.Y).Neg(&q.Y)
	}
	return q
}

// addSpecial adds where a chord does not: infinities, equal and opposite points.
func addSpecial[F any, PF field[F]](p, q point[F]) point[F] {
	var sum F
	switch {
	case isInfinite[F, PF](&p):
		return q
	case isInfinite[F, PF](&q):
		return p
	}
	PF(&sum).Add(&p.Y, &q.Y)
	if PF(&sum).IsZero() {
		return point[F]{}
	}
	// Equal points. The tangent's slope is 3x²/2y, and 2y is the sum, not zero.
	var lambda, t F
	PF(&t).Square(&p.X)
	PF(&lambda).Double(&t)
	PF(&lambda).Add(&lambda, &t)
	PF(&sum).Inverse(&sum)
	PF(&lambda).Mul(&lambda, &sum)
	var r point[F]
	chord[F, PF](&r, &p, &p.X, &lambda)
	return r
}
