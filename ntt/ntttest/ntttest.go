// Package ntttest is the suite that every implementation of ntt.Engine passes. Expected
// values come from the definition (sums of powers, Horner's rule), never from another
// fast transform.
package ntttest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/ntt"
)

// Options bounds the suite.
type Options struct {
	// MaxLog is the largest domain, 2^MaxLog points. 0 means 14, which takes seconds on
	// two cores.
	MaxLog int
	// NaiveLog is the largest domain whose transforms are compared point by point with
	// the definition, at a quadratic cost. 0 means 9.
	NaiveLog int
}

func (o Options) withDefaults() Options {
	if o.MaxLog == 0 {
		o.MaxLog = 14
	}
	if o.NaiveLog == 0 {
		o.NaiveLog = 9
	}
	o.NaiveLog = min(o.NaiveLog, o.MaxLog)
	return o
}

// Run runs the suite on the engine that newEngine makes.
func Run(t *testing.T, newEngine func() ntt.Engine, o Options) {
	o = o.withDefaults()
	t.Run("Definition", func(t *testing.T) { testDefinition(t, newEngine(), o) })
	t.Run("Spots", func(t *testing.T) { testSpots(t, newEngine(), o) })
	t.Run("RoundTrip", func(t *testing.T) { testRoundTrip(t, newEngine(), o) })
	t.Run("QuotientDefinition", func(t *testing.T) { testQuotientDefinition(t, newEngine(), o) })
	t.Run("QuotientSatisfied", func(t *testing.T) { testQuotientSatisfied(t, newEngine(), o) })
	t.Run("QuotientSpots", func(t *testing.T) { testQuotientSpots(t, newEngine(), o) })
	t.Run("Arguments", func(t *testing.T) { testArguments(t, newEngine()) })
	t.Run("Cancel", func(t *testing.T) { testCancel(t, newEngine(), o) })
	t.Run("Concurrent", func(t *testing.T) { testConcurrent(t, newEngine(), o) })
}

var cosets = []ntt.Coset{ntt.Plain, ntt.Shifted}

func domain(t *testing.T, log int) ntt.Domain {
	d, err := ntt.NewDomain(1 << log)
	require.NoError(t, err)
	return d
}

// Vector returns n elements of the given pattern: "random", "zero", "max" (all r-1),
// "first" and "last" (a single one), "alternating" (0 and r-1).
func Vector(pattern string, n int, seed uint64) []fr.Element {
	rng := rand.New(rand.NewPCG(seed, 1))
	v := make([]fr.Element, n)
	top := fr.NewElement(1)
	top.Neg(&top)
	for i := range v {
		switch pattern {
		case "random":
			v[i] = element(rng)
		case "max":
			v[i] = top
		case "alternating":
			if i%2 != 0 {
				v[i] = top
			}
		}
	}
	switch pattern {
	case "first":
		v[0].SetOne()
	case "last":
		v[n-1].SetOne()
	}
	return v
}

var patterns = []string{"random", "zero", "max", "first", "last", "alternating"}

func element(rng *rand.Rand) fr.Element {
	var b [48]byte
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	var e fr.Element
	return *e.SetBytes(b[:])
}

// point is x_j = omega^j, times 7 on the coset.
func point(d ntt.Domain, j uint64, coset ntt.Coset) fr.Element {
	root, x := d.Root(), fr.Element{}
	x.Exp(root, new(big.Int).SetUint64(j))
	if coset == ntt.Shifted {
		seven := fr.NewElement(7)
		x.Mul(&x, &seven)
	}
	return x
}

// horner evaluates the polynomial with the given coefficients.
func horner(coefficients []fr.Element, x fr.Element) fr.Element {
	var y fr.Element
	for i := len(coefficients) - 1; i >= 0; i-- {
		y.Mul(&y, &x)
		y.Add(&y, &coefficients[i])
	}
	return y
}

// naive evaluates at every point of the domain or its coset.
func naive(d ntt.Domain, coefficients []fr.Element, coset ntt.Coset) []fr.Element {
	out := make([]fr.Element, len(coefficients))
	for j := range out {
		out[j] = horner(coefficients, point(d, uint64(j), coset))
	}
	return out
}

func testDefinition(t *testing.T, e ntt.Engine, o Options) {
	for log := 0; log <= o.NaiveLog; log++ {
		d := domain(t, log)
		for _, pattern := range patterns {
			if pattern != "random" && log > 6 {
				continue
			}
			coefficients := Vector(pattern, 1<<log, uint64(log))
			for _, coset := range cosets {
				what := fmt.Sprintf("log=%d %s %v", log, pattern, coset)
				values := naive(d, coefficients, coset)
				v := clone(coefficients)
				require.NoError(t, e.Transform(context.Background(), d, v, ntt.Forward, coset), what)
				requireEqual(t, values, v, what+" forward")
				require.NoError(t, e.Transform(context.Background(), d, v, ntt.Inverse, coset), what)
				requireEqual(t, coefficients, v, what+" inverse")
			}
		}
	}
}

// testSpots compares a few values of large transforms with Horner's rule.
func testSpots(t *testing.T, e ntt.Engine, o Options) {
	for log := o.NaiveLog + 1; log <= o.MaxLog; log++ {
		d := domain(t, log)
		coefficients := Vector("random", 1<<log, uint64(log))
		for _, coset := range cosets {
			v := clone(coefficients)
			require.NoError(t, e.Transform(context.Background(), d, v, ntt.Forward, coset))
			for _, j := range []uint64{0, 1, 2, d.Size()/2 - 1, d.Size() / 2, d.Size() * 2 / 3, d.Size() - 1} {
				want := horner(coefficients, point(d, j, coset))
				require.True(t, want.Equal(&v[j]), "log=%d %v j=%d", log, coset, j)
			}
		}
	}
}

func testRoundTrip(t *testing.T, e ntt.Engine, o Options) {
	ctx := context.Background()
	for log := 0; log <= o.MaxLog; log++ {
		d := domain(t, log)
		for _, coset := range cosets {
			v := Vector("random", 1<<log, 99)
			want := clone(v)
			require.NoError(t, e.Transform(ctx, d, v, ntt.Inverse, coset))
			require.NoError(t, e.Transform(ctx, d, v, ntt.Forward, coset))
			requireEqual(t, want, v, fmt.Sprintf("log=%d %v", log, coset))
		}
	}
}

// testQuotientDefinition follows spec 1.5.1 step by step with naive sums, on vectors that
// satisfy nothing.
func testQuotientDefinition(t *testing.T, e ntt.Engine, o Options) {
	for log := 0; log <= o.NaiveLog; log++ {
		d := domain(t, log)
		a, b, c := Vector("random", 1<<log, 1), Vector("random", 1<<log, 2), Vector("random", 1<<log, 3)
		A, B, C := naiveInverse(d, a), naiveInverse(d, b), naiveInverse(d, c)
		av, bv, cv := naive(d, A, ntt.Shifted), naive(d, B, ntt.Shifted), naive(d, C, ntt.Shifted)
		z := vanishing(d)
		z.Inverse(&z)
		want := av
		for i := range want {
			want[i].Mul(&av[i], &bv[i])
			want[i].Sub(&want[i], &cv[i])
			want[i].Mul(&want[i], &z)
		}
		require.NoError(t, e.Quotient(context.Background(), d, a, b, c))
		requireEqual(t, want, naive(d, a, ntt.Shifted), fmt.Sprintf("log=%d", log))
	}
}

// naiveInverse interpolates: coefficient i is 1/m times the sum of v[j]·omega^(-ij).
func naiveInverse(d ntt.Domain, v []fr.Element) []fr.Element {
	out := make([]fr.Element, len(v))
	var scale fr.Element
	scale.SetUint64(d.Size())
	scale.Inverse(&scale)
	for i := range out {
		out[i] = horner(v, point(d, (d.Size()-uint64(i))%d.Size(), ntt.Plain))
		out[i].Mul(&out[i], &scale)
	}
	return out
}

// vanishing is 7^m - 1.
func vanishing(d ntt.Domain) fr.Element {
	var z fr.Element
	one := fr.One()
	z.Exp(fr.NewElement(7), new(big.Int).SetUint64(d.Size()))
	z.Sub(&z, &one)
	return z
}

// testQuotientSatisfied checks A·B - C = h·(X^m - 1) at a random point, for c = a·b, and
// that the last coefficient is zero.
func testQuotientSatisfied(t *testing.T, e ntt.Engine, o Options) {
	ctx := context.Background()
	for log := 0; log <= o.MaxLog; log++ {
		d := domain(t, log)
		a, b := Vector("random", 1<<log, 11), Vector("random", 1<<log, 12)
		c := make([]fr.Element, len(a))
		for i := range c {
			c[i].Mul(&a[i], &b[i])
		}
		x := element(rand.New(rand.NewPCG(5, uint64(log))))
		at := func(v []fr.Element) fr.Element {
			v = clone(v)
			require.NoError(t, e.Transform(ctx, d, v, ntt.Inverse, ntt.Plain))
			return horner(v, x)
		}
		ax, bx, cx := at(a), at(b), at(c)
		require.NoError(t, e.Quotient(ctx, d, a, b, c))
		require.True(t, a[len(a)-1].IsZero(), "log=%d: last coefficient", log)
		var left, right, one fr.Element
		left.Mul(&ax, &bx)
		left.Sub(&left, &cx)
		one.SetOne()
		right.Exp(x, new(big.Int).SetUint64(d.Size()))
		right.Sub(&right, &one)
		h := horner(a, x)
		right.Mul(&right, &h)
		require.True(t, left.Equal(&right), "log=%d", log)
	}
}

// testQuotientSpots checks h·(7^m - 1) = A·B - C at a few points of the coset of large
// domains, for vectors that satisfy nothing.
func testQuotientSpots(t *testing.T, e ntt.Engine, o Options) {
	ctx := context.Background()
	for log := o.NaiveLog + 1; log <= o.MaxLog; log++ {
		d := domain(t, log)
		a, b, c := Vector("random", 1<<log, 21), Vector("alternating", 1<<log, 0), Vector("random", 1<<log, 22)
		var poly [3][]fr.Element
		for i, v := range [][]fr.Element{a, b, c} {
			poly[i] = clone(v)
			require.NoError(t, e.Transform(ctx, d, poly[i], ntt.Inverse, ntt.Plain))
		}
		require.NoError(t, e.Quotient(ctx, d, a, b, c))
		z := vanishing(d)
		for _, j := range []uint64{0, 1, d.Size() / 3, d.Size() - 1} {
			x := point(d, j, ntt.Shifted)
			ax, bx, cx, h := horner(poly[0], x), horner(poly[1], x), horner(poly[2], x), horner(a, x)
			ax.Mul(&ax, &bx)
			ax.Sub(&ax, &cx)
			h.Mul(&h, &z)
			require.True(t, ax.Equal(&h), "log=%d j=%d", log, j)
		}
	}
}

func testArguments(t *testing.T, e ntt.Engine) {
	ctx := context.Background()
	d := domain(t, 4)
	good := func() []fr.Element { return Vector("random", 16, 3) }
	for _, n := range []int{0, 1, 8, 15, 17, 32} {
		bad := Vector("random", max(n, 1), 4)[:n]
		before := clone(bad)
		var le *ntt.LengthError
		err := e.Transform(ctx, d, bad, ntt.Forward, ntt.Plain)
		require.ErrorIs(t, err, ntt.ErrLength)
		require.ErrorAs(t, err, &le)
		require.Equal(t, ntt.LengthError{Vector: "v", Have: n, Want: 16}, *le)
		requireEqual(t, before, bad, "touched")
		for i, name := range []string{"a", "b", "c"} {
			v := [3][]fr.Element{good(), good(), good()}
			v[i] = bad
			err := e.Quotient(ctx, d, v[0], v[1], v[2])
			require.ErrorAs(t, err, &le)
			require.Equal(t, name, le.Vector)
			for k := range v {
				if k != i {
					requireEqual(t, good(), v[k], "touched")
				}
			}
		}
	}
	require.ErrorIs(t, e.Transform(ctx, d, nil, ntt.Inverse, ntt.Shifted), ntt.ErrLength)
	v, w := good(), Vector("random", 24, 1)
	require.ErrorIs(t, e.Quotient(ctx, d, v, v, good()), ntt.ErrLength)
	require.ErrorIs(t, e.Quotient(ctx, d, w[:16], good(), w[8:]), ntt.ErrLength)
	require.ErrorIs(t, e.Transform(ctx, ntt.Domain{}, good(), ntt.Forward, ntt.Plain), ntt.ErrDomain)
	require.ErrorIs(t, e.Transform(ctx, ntt.Domain{}, nil, ntt.Forward, ntt.Plain), ntt.ErrDomain)
	require.ErrorIs(t, e.Quotient(ctx, ntt.Domain{}, good(), good(), good()), ntt.ErrDomain)
}

// testCancel ends contexts before and during the work: the error is the context's, and
// no goroutine stays.
func testCancel(t *testing.T, e ntt.Engine, o Options) {
	d := domain(t, o.MaxLog)
	n := 1 << o.MaxLog
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	v := Vector("random", n, 1)
	before := clone(v)
	require.ErrorIs(t, e.Transform(ended, d, v, ntt.Forward, ntt.Plain), context.Canceled)
	require.ErrorIs(t, e.Quotient(ended, d, v, clone(v), clone(v)), context.Canceled)
	requireEqual(t, before, v, "touched")

	a, b, c := clone(v), clone(v), clone(v)
	start := time.Now()
	require.NoError(t, e.Quotient(context.Background(), d, a, b, c))
	took := time.Since(start)
	goroutines := runtime.NumGoroutine()
	for i := range 8 {
		ctx, cancel := context.WithTimeout(context.Background(), took*time.Duration(i)/8)
		a, b, c := clone(v), clone(v), clone(v)
		if err := e.Quotient(ctx, d, a, b, c); err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		cancel()
	}
	requireGoroutines(t, goroutines)
}

// requireGoroutines waits until no more goroutines run than before.
func requireGoroutines(t *testing.T, want int) {
	t.Helper()
	for range 200 {
		if runtime.NumGoroutine() <= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), want)
}

func testConcurrent(t *testing.T, e ntt.Engine, o Options) {
	log := min(o.MaxLog, 10)
	d := domain(t, log)
	var wg sync.WaitGroup
	var errs [6]error
	var got [6][]fr.Element
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got[i] = Vector("random", 1<<log, uint64(i))
			errs[i] = e.Transform(context.Background(), d, got[i], ntt.Forward, ntt.Shifted)
		}()
	}
	wg.Wait()
	for i := range errs {
		require.NoError(t, errs[i])
		v := Vector("random", 1<<log, uint64(i))
		require.NoError(t, e.Transform(context.Background(), d, v, ntt.Forward, ntt.Shifted))
		requireEqual(t, v, got[i], "concurrent")
	}
}

func clone(v []fr.Element) []fr.Element { return append([]fr.Element(nil), v...) }

func requireEqual(t *testing.T, want, got []fr.Element, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		if !want[i].Equal(&got[i]) {
			require.FailNow(t, "not equal", "%s: element %d is %v, want %v", what, i, &got[i], &want[i])
		}
	}
}
