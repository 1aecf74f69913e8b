package msm

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// prime is the modulus in words.
var prime = func() (w fp.Element) {
	for i, x := range fp.Modulus().Bits() {
		w[i] = uint64(x)
	}
	return w
}()

// coordinate draws a field element, often one whose words are at the ends of their range.
func coordinate(rng *rand.Rand) fp.Element {
	var e fp.Element
	if rng.IntN(3) > 0 {
		for i := range e {
			e[i] = rng.Uint64()
		}
		e[5] %= prime[5]
		return e
	}
	edges := [...]uint64{0, 1, 1<<52 - 1, 1 << 52, 1<<64 - 1, 1<<64 - 1<<52, prime[0] - 1}
	for i := range e {
		e[i] = edges[rng.IntN(len(edges))]
	}
	switch rng.IntN(4) {
	case 0:
		return fp.Element{}
	case 1: // p-1, p-2, ... as words
		e = prime
		e[0] -= 1 + rng.Uint64N(3)
	default:
		e[5] %= prime[5]
	}
	return e
}

// testAdder compares an adder with gnark-crypto's arithmetic pair by pair, on any
// coordinates: the formulas do not care for the curve.
func testAdder[P, F comparable, PF field[F]](t *testing.T, a adder[P], make func(*rand.Rand) point[F]) {
	for _, n := range []int{1, 2, 7, 8, 9, 15, 16, 17, 100, 1023, 1024, 1025, 2500} {
		for _, special := range []int{0, 1, 100} { // per cent
			rng := rand.New(rand.NewPCG(uint64(n), uint64(special)))
			points := randomPoints[F, PF](rng, 2*n, special, make)
			src, dst := asPoints[P](points), asPoints[P](makeSlice[F](n+1))
			var x, y []entry
			var out []uint32
			for i := range n {
				x, y = append(x, entry(4*i)|rng.Uint32N(2)), append(y, entry(4*i+2)|rng.Uint32N(2))
				out = append(out, uint32(i))
			}
			rng.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
			clean := a.add(dst, src, x, y, out, special == 0)
			wantClean := true
			for i := range n {
				p, q := signed[F, PF](&points[x[i]>>1], x[i]), signed[F, PF](&points[y[i]>>1], y[i])
				want := addOne[F, PF](p, q)
				wantClean = wantClean && !isInfinite[F, PF](&want)
				a.canonical(&dst[out[i]])
				got := coordinates[P, F](dst)[out[i]]
				require.Equal(t, want, got, "n=%d special=%d i=%d", n, special, i)
			}
			require.Equal(t, wantClean, clean)
			require.Equal(t, point[F]{}, coordinates[P, F](dst)[n], "wrote beyond its places")
		}
	}
}

func makeSlice[F any](n int) []point[F] { return make([]point[F], n) }

// asPoints is the inverse of coordinates.
func asPoints[P, F any](p []point[F]) []P {
	return unsafe.Slice((*P)(unsafe.Pointer(unsafe.SliceData(p))), len(p))
}

// randomPoints makes n points, n even. Of the neighbours 2i and 2i+1, some (special in a
// hundred) are infinite, equal or opposite; the others have different abscissas.
func randomPoints[F comparable, PF field[F]](rng *rand.Rand, n, special int, make func(*rand.Rand) point[F]) []point[F] {
	points := makeSlice[F](n)
	for i := 0; i < n; i += 2 {
		p, q := &points[i], &points[i+1]
		*p, *q = make(rng), make(rng)
		for p.X == q.X || isInfinite[F, PF](p) || isInfinite[F, PF](q) {
			*p, *q = make(rng), make(rng)
		}
		if rng.IntN(100) >= special {
			continue
		}
		switch rng.IntN(5) {
		case 0:
			*p = point[F]{}
		case 1:
			*q = point[F]{}
		case 2:
			*p, *q = point[F]{}, point[F]{}
		case 3:
			*q = *p
		case 4:
			*q = signed[F, PF](p, 1)
		}
	}
	return points
}

// addOne adds two points by the textbook.
func addOne[F any, PF field[F]](p, q point[F]) point[F] {
	var dx, lambda F
	PF(&dx).Sub(&q.X, &p.X)
	if PF(&dx).IsZero() || isInfinite[F, PF](&p) || isInfinite[F, PF](&q) {
		return addSpecial[F, PF](p, q)
	}
	PF(&dx).Inverse(&dx)
	PF(&lambda).Sub(&q.Y, &p.Y)
	PF(&lambda).Mul(&lambda, &dx)
	var r point[F]
	chord[F, PF](&r, &p, &q.X, &lambda)
	return r
}

func g1Coordinates(rng *rand.Rand) point[fp.Element] {
	return point[fp.Element]{X: coordinate(rng), Y: coordinate(rng)}
}

func g2Coordinates(rng *rand.Rand) point[bls12381.E2] {
	e := func() bls12381.E2 { return bls12381.E2{A0: coordinate(rng), A1: coordinate(rng)} }
	return point[bls12381.E2]{X: e(), Y: e()}
}

func TestAdders(t *testing.T) {
	t.Run("g1 generic", func(t *testing.T) {
		testAdder[bls12381.G1Affine, fp.Element, *fp.Element](t, newG1Generic(), g1Coordinates)
	})
	t.Run("g2 generic", func(t *testing.T) {
		testAdder[bls12381.G2Affine, bls12381.E2, *bls12381.E2](t, newG2Generic(), g2Coordinates)
	})
	if !haveIFMA() {
		t.Log("no AVX-512 IFMA here: its adders are not tested")
		return
	}
	t.Run("g1 ifma", func(t *testing.T) {
		testAdder[bls12381.G1Affine, fp.Element, *fp.Element](t, newG1IFMA(), g1Coordinates)
	})
	t.Run("g2 ifma", func(t *testing.T) {
		testAdder[bls12381.G2Affine, bls12381.E2, *bls12381.E2](t, newG2IFMA(), g2Coordinates)
	})
}

// Results that are only nearly reduced must be as good as their canonical values in
// further additions.
func TestAdderChains(t *testing.T) {
	if !haveIFMA() {
		t.Log("no AVX-512 IFMA here: nothing to chain")
		return
	}
	testChains[bls12381.G1Affine, fp.Element, *fp.Element](t, newG1IFMA(), newG1Generic(), g1Coordinates)
	testChains[bls12381.G2Affine, bls12381.E2, *bls12381.E2](t, newG2IFMA(), newG2Generic(), g2Coordinates)
}

func testChains[P, F comparable, PF field[F]](t *testing.T, fast, plain adder[P], draw func(*rand.Rand) point[F]) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 1 << 12
	want := asPoints[P](randomPoints[F, PF](rng, n, 0, draw))
	got := append([]P(nil), want...)
	for m := n / 2; m > 0; m /= 2 {
		var a, b []entry
		var out []uint32
		for i := range m {
			a, b, out = append(a, entry(4*i)), append(b, entry(4*i+2)), append(out, uint32(i))
		}
		next, nextWant := make([]P, m), make([]P, m)
		fast.add(next, got, a, b, out, true)
		plain.add(nextWant, want, a, b, out, true)
		got, want = next, nextWant
		for i := range next {
			p := next[i]
			fast.canonical(&p)
			require.Equal(t, want[i], p, "level of %d", m)
		}
	}
}

// BenchmarkAdder is a batch of additions of random points of a set that fits the cache,
// or does not; in processor time of the thread, the best of the runs.
func BenchmarkAdder(b *testing.B) {
	for _, log := range []int{12, 15, 20, 22} {
		set := 1 << log
		var space scratch
		src, err := take[bls12381.G1Affine](&space, set)
		require.NoError(b, err)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range src {
			src[i] = asPoints[bls12381.G1Affine]([]point[fp.Element]{g1Coordinates(rng)})[0]
			src[i].X[0] = uint64(i)
		}
		const n = 1 << 14
		var x, y []entry
		var out []uint32
		for i := range n {
			x, y, out = append(x, rng.Uint32N(uint32(set/2))<<1), append(y, (uint32(set/2)+rng.Uint32N(uint32(set/2)))<<1), append(out, uint32(i))
		}
		dst := make([]bls12381.G1Affine, n)
		adders := map[string]adder[bls12381.G1Affine]{"generic": newG1Generic()}
		if haveIFMA() {
			adders["ifma"] = newG1IFMA()
		}
		for name, a := range adders {
			b.Run(fmt.Sprintf("set=2^%d/kernel=%s", log, name), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				best := int64(1 << 62)
				for b.Loop() {
					start := threadTime()
					a.add(dst, src, x, y, out, true)
					best = min(best, threadTime()-start)
				}
				b.ReportMetric(float64(best)/n, "best-cpu-ns/add")
			})
		}
		require.NoError(b, space.close())
	}
}

// threadTime is the processor time of the thread in nanoseconds.
func threadTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}
