// Package msmtest is the suite that every implementation of msm.Engine passes.
//
// All points are known multiples of the generator, so that the expected sum is one
// multiplication of the generator: no other multi-scalar multiplication is trusted.
package msmtest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/msm"
)

// Options bounds the suite.
type Options struct {
	// Large is the number of points of the few large sums. 0 means 10,000: with the other
	// defaults the suite takes well under a minute on two cores.
	Large int
	// Random is how many random sums and configurations are drawn. 0 means 20.
	Random int
	// Configs are what the edge cases run with, besides the zero Config.
	Configs []msm.Config
	// Windows are the sizes that the window test tries. Nil means all.
	Windows []int
	// SkipG2 leaves G2 out, SkipG1 G1.
	SkipG1, SkipG2 bool
}

func (o Options) withDefaults() Options {
	if o.Large == 0 {
		o.Large = 10000
	}
	if o.Random == 0 {
		o.Random = 20
	}
	if o.Windows == nil {
		for c := msm.MinWindowBits; c <= msm.MaxWindowBits; c++ {
			o.Windows = append(o.Windows, c)
		}
	}
	return o
}

// Run runs the suite on the engine that newEngine makes.
func Run(t *testing.T, newEngine func() msm.Engine, o Options) {
	o = o.withDefaults()
	if !o.SkipG1 {
		t.Run("G1", func(t *testing.T) { runGroup(t, g1(newEngine()), o) })
	}
	if !o.SkipG2 {
		t.Run("G2", func(t *testing.T) { runGroup(t, g2(newEngine()), o) })
	}
}

func runGroup[P comparable](t *testing.T, g *group[P], o Options) {
	t.Run("Edges", func(t *testing.T) { testEdges(t, g, o) })
	t.Run("One", func(t *testing.T) { testOne(t, g) })
	t.Run("Masks", func(t *testing.T) { testMasks(t, g, o) })
	t.Run("Windows", func(t *testing.T) { testWindows(t, g, o) })
	t.Run("Large", func(t *testing.T) { testLarge(t, g, o) })
	t.Run("Configs", func(t *testing.T) { testConfigs(t, g, o) })
	t.Run("Arguments", func(t *testing.T) { testArguments(t, g) })
	t.Run("Cancel", func(t *testing.T) { testCancel(t, g, o) })
	t.Run("Concurrent", func(t *testing.T) { testConcurrent(t, g, o) })
}

// group is one of the two groups with an engine's sum over it.
type group[P comparable] struct {
	name string
	// multiples are logs[i] times the generator; zero makes infinity.
	multiples func(logs []fr.Element) []P
	sum       func(context.Context, []P, msm.Scalars, msm.Config) (P, error)
}

func g1(e msm.Engine) *group[bls12381.G1Affine] {
	_, _, gen, _ := bls12381.Generators()
	return &group[bls12381.G1Affine]{
		name: "G1",
		multiples: func(logs []fr.Element) []bls12381.G1Affine {
			return multiples(logs, bls12381.BatchScalarMultiplicationG1, &gen)
		},
		sum: func(ctx context.Context, p []bls12381.G1Affine, k msm.Scalars, cfg msm.Config) (a bls12381.G1Affine, err error) {
			j, err := e.G1(ctx, p, k, cfg)
			return *a.FromJacobian(&j), err
		},
	}
}

func g2(e msm.Engine) *group[bls12381.G2Affine] {
	_, _, _, gen := bls12381.Generators()
	return &group[bls12381.G2Affine]{
		name: "G2",
		multiples: func(logs []fr.Element) []bls12381.G2Affine {
			return multiples(logs, bls12381.BatchScalarMultiplicationG2, &gen)
		},
		sum: func(ctx context.Context, p []bls12381.G2Affine, k msm.Scalars, cfg msm.Config) (a bls12381.G2Affine, err error) {
			j, err := e.G2(ctx, p, k, cfg)
			return *a.FromJacobian(&j), err
		},
	}
}

func multiples[P any](logs []fr.Element, batch func(*P, []fr.Element) []P, gen *P) []P {
	if len(logs) == 0 {
		return nil
	}
	return batch(gen, logs)
}

// expect is the sum's discrete logarithm, and then the sum.
func (g *group[P]) expect(logs, k []fr.Element) P {
	var total, t fr.Element
	for i := range logs {
		t.Mul(&logs[i], &k[i])
		total.Add(&total, &t)
	}
	return g.multiples([]fr.Element{total})[0]
}

// check computes a sum and compares it, and looks whether the arguments were changed.
func (g *group[P]) check(t *testing.T, points []P, k msm.Scalars, cfg msm.Config, want P, what string) {
	t.Helper()
	before, kBefore := slices.Clone(points), cloneScalars(k)
	got, err := g.sum(context.Background(), points, k, cfg)
	require.NoError(t, err, what)
	if got != want {
		require.FailNow(t, "wrong sum", "%s: %v\nconfig %v", g.name, what, cfg)
	}
	require.True(t, slices.Equal(before, points), "%s: points were changed", what)
	require.True(t, equalScalars(kBefore, k), "%s: scalars were changed", what)
}

func cloneScalars(k msm.Scalars) msm.Scalars {
	return msm.Scalars{Dense: slices.Clone(k.Dense), Bits: slices.Clone(k.Bits), Tail: slices.Clone(k.Tail), TailAt: slices.Clone(k.TailAt)}
}

func equalScalars(a, b msm.Scalars) bool {
	return slices.Equal(a.Dense, b.Dense) && slices.Equal(a.Bits, b.Bits) &&
		slices.Equal(a.Tail, b.Tail) && slices.Equal(a.TailAt, b.TailAt)
}

var edgeSizes = []int{0, 1, 2, 3, 7, 8, 9, 10, 31, 32, 33, 255, 256, 257, 1000}

func testEdges[P comparable](t *testing.T, g *group[P], o Options) {
	for _, points := range pointPatterns {
		logs := points.make(edgeSizes[len(edgeSizes)-1])
		all := g.multiples(logs)
		for _, scalars := range scalarPatterns {
			for _, n := range edgeSizes {
				if n > 257 && points.name != "random" && scalars.name != "random" {
					continue
				}
				k := scalars.make(n)
				want := g.expect(logs[:n], k)
				what := fmt.Sprintf("points=%s scalars=%s n=%d", points.name, scalars.name, n)
				for _, cfg := range append([]msm.Config{{}}, o.Configs...) {
					g.check(t, all[:n], msm.Scalars{Dense: k}, cfg, want, what)
				}
			}
		}
	}
}

// testOne is a sum of one point (field faults A3, A14), and of two with an infinity or a
// zero (A5).
func testOne[P comparable](t *testing.T, g *group[P]) {
	logs := []fr.Element{fr.NewElement(5), fr.NewElement(0), fr.NewElement(7)}
	p := g.multiples(logs)
	for _, k := range []int64{0, 1, 2, 3, 255, -1, -2} {
		for i := range p {
			for j := range p {
				two := []fr.Element{element(k), element(3)}
				g.check(t, []P{p[i], p[j]}, msm.Scalars{Dense: two}, msm.Config{},
					g.expect([]fr.Element{logs[i], logs[j]}, two), fmt.Sprint(k, i, j))
			}
			one := []fr.Element{element(k)}
			for _, c := range []int{0, 2, 7} {
				g.check(t, p[i:i+1], msm.Scalars{Dense: one}, msm.Config{WindowBits: c}, g.expect(logs[i:i+1], one), fmt.Sprint(k, i))
			}
		}
	}
	infinity := g.multiples([]fr.Element{{}})[0]
	for _, k := range []msm.Scalars{{}, {Dense: []fr.Element{}}, {Bits: []uint64{}}, {Bits: []uint64{}, Tail: []fr.Element{}, TailAt: []uint32{}}} {
		for _, points := range [][]P{nil, {}} {
			g.check(t, points, k, msm.Config{}, infinity, "no points")
			g.check(t, points, k, msm.Config{WindowBits: 5}, infinity, "no points")
		}
	}
}

// sparse is a sum in its second form with the same in full.
type sparse struct {
	k     msm.Scalars
	dense []fr.Element
}

// split makes a sparse sum: kind(i) is 'b' for a set bit, 't' for a tail scalar, else 0.
func split(n int, tail []fr.Element, kind func(i int) byte) sparse {
	s := sparse{dense: make([]fr.Element, n)}
	s.k.Bits = make([]uint64, (n+63)/64)
	for i := range n {
		switch kind(i) {
		case 'b':
			s.k.Bits[i/64] |= 1 << (i % 64)
			s.dense[i].SetOne()
		case 't':
			s.k.TailAt = append(s.k.TailAt, uint32(i))
			s.k.Tail = append(s.k.Tail, tail[i])
			s.dense[i] = tail[i]
		}
	}
	return s
}

// testMasks is field fault A7: offsets of skipped scalars. Each sum is computed from
// bits and tail, in full, and after explicit compaction of points and scalars.
func testMasks[P comparable](t *testing.T, g *group[P], o Options) {
	const most = 700
	rng := rand.New(rand.NewPCG(7, 7))
	masks := []struct {
		name string
		kind func(i, n int) byte
	}{
		{"empty", func(i, n int) byte { return 0 }},
		{"full", func(i, n int) byte { return 'b' }},
		{"all tail", func(i, n int) byte { return 't' }},
		{"leading", func(i, n int) byte { return "b\x00"[2*i/n] }},
		{"trailing", func(i, n int) byte { return "\x00b"[2*i/n] }},
		{"alternating", func(i, n int) byte { return "b\x00"[i%2] }},
		{"leading tail", func(i, n int) byte { return "tb"[2*i/n] }},
		{"trailing tail", func(i, n int) byte { return "bt"[2*i/n] }},
		{"alternating tail", func(i, n int) byte { return "\x00t"[i%2] }},
		{"last tail", func(i, n int) byte { return "bt"[(i+1)/n] }},
		{"mixed", func(i, n int) byte { return "b\x00tbb\x00"[rng.IntN(6)] }},
		{"few", func(i, n int) byte { return "\x00t"[boolInt(rng.IntN(50) == 0)] }},
	}
	for _, points := range pointPatterns {
		logs := points.make(most)
		all := g.multiples(logs)
		tail := mixedScalars(most)
		for _, n := range []int{1, 2, 63, 64, 65, 128, 257, most} {
			for _, m := range masks {
				s := split(n, tail, func(i int) byte { return m.kind(i, n) })
				want := g.expect(logs[:n], s.dense)
				what := fmt.Sprintf("points=%s mask=%s n=%d", points.name, m.name, n)
				g.check(t, all[:n], s.k, msm.Config{}, want, what)
				if points.name != "random" {
					continue
				}
				g.check(t, all[:n], msm.Scalars{Dense: s.dense}, msm.Config{}, want, what+" dense")
				p, k := compact(all[:n], s.dense)
				g.check(t, p, msm.Scalars{Dense: k}, msm.Config{}, want, what+" compacted")
			}
		}
	}
}

func compact[P any](points []P, k []fr.Element) (p []P, c []fr.Element) {
	for i := range k {
		if !k[i].IsZero() {
			p, c = append(p, points[i]), append(c, k[i])
		}
	}
	return p, c
}

func testWindows[P comparable](t *testing.T, g *group[P], o Options) {
	const n = 150
	for _, points := range pointPatterns {
		if points.name != "random" && points.name != "consecutive" {
			continue
		}
		logs := points.make(n)
		all := g.multiples(logs)
		for _, c := range o.Windows {
			for _, k := range [][]fr.Element{mixedScalars(n), digitEdges(n, c)} {
				g.check(t, all, msm.Scalars{Dense: k}, msm.Config{WindowBits: c}, g.expect(logs, k), points.name)
			}
		}
	}
}

func testLarge[P comparable](t *testing.T, g *group[P], o Options) {
	logs := randomElements(o.Large, 1)
	// Some infinities, repetitions and opposites among them.
	for i := 0; i < len(logs); i += 97 {
		logs[i] = fr.Element{}
	}
	for i := 50; i < len(logs); i += 101 {
		logs[i] = logs[i-1]
	}
	for i := 51; i < len(logs); i += 103 {
		logs[i].Neg(&logs[i-1])
	}
	points := g.multiples(logs)
	for _, scalars := range scalarPatterns {
		if !scalars.large {
			continue
		}
		k := scalars.make(o.Large)
		g.check(t, points, msm.Scalars{Dense: k}, msm.Config{}, g.expect(logs, k), scalars.name)
	}
	same := make([]P, o.Large) // one point, all the same (A8)
	sameLogs := make([]fr.Element, o.Large)
	for i := range same {
		same[i], sameLogs[i] = points[1], logs[1]
	}
	k := randomElements(o.Large, 2)
	g.check(t, same, msm.Scalars{Dense: k}, msm.Config{}, g.expect(sameLogs, k), "one point")
	rng := rand.New(rand.NewPCG(3, 3))
	s := split(o.Large, k, func(int) byte { return "bb\x00\x00t"[rng.IntN(5)] })
	g.check(t, points, s.k, msm.Config{}, g.expect(logs, s.dense), "sparse")
}

// testConfigs is metamorphic: whatever the configuration, the sum is the same.
func testConfigs[P comparable](t *testing.T, g *group[P], o Options) {
	rng := rand.New(rand.NewPCG(11, 4))
	for round := range o.Random {
		n := rng.IntN(2000)
		logs := pointPatterns[rng.IntN(len(pointPatterns))].make(n)
		points := g.multiples(logs)
		k := scalarPatterns[rng.IntN(len(scalarPatterns))].make(n)
		want := g.expect(logs, k)
		s := split(n, k, func(i int) byte { return "t\x00b"[rng.IntN(3)] })
		sparseWant := g.expect(logs, s.dense)
		cfg := msm.Config{Threads: rng.IntN(6), PassPoints: rng.IntN(3) * (1 + rng.IntN(n+1))}
		if rng.IntN(4) > 0 {
			cfg.WindowBits = msm.MinWindowBits + rng.IntN(15)
		}
		if rng.IntN(2) == 0 {
			cfg.Kernel = msm.KernelGeneric
		}
		require.NoError(t, cfg.Validate())
		what := fmt.Sprintf("round %d n=%d", round, n)
		g.check(t, points, msm.Scalars{Dense: k}, cfg, want, what)
		g.check(t, points, s.k, cfg, sparseWant, what+" sparse")
	}
}

func testArguments[P comparable](t *testing.T, g *group[P]) {
	one := fr.One()
	dense := func(n int) []fr.Element { return randomElements(n, 5) }
	cases := []struct {
		n     int
		k     msm.Scalars
		field string
		index int
	}{
		{3, msm.Scalars{}, "Dense", -1},
		{3, msm.Scalars{Dense: dense(2)}, "Dense", -1},
		{3, msm.Scalars{Dense: dense(4)}, "Dense", -1},
		{0, msm.Scalars{Dense: dense(1)}, "Dense", -1},
		{3, msm.Scalars{Dense: dense(3), Bits: []uint64{0}}, "Dense", -1},
		{3, msm.Scalars{Dense: dense(3), Tail: []fr.Element{one}, TailAt: []uint32{0}}, "Dense", -1},
		{3, msm.Scalars{Bits: []uint64{}}, "Bits", -1},
		{3, msm.Scalars{Bits: []uint64{0, 0}}, "Bits", -1},
		{65, msm.Scalars{Bits: []uint64{0}}, "Bits", -1},
		{0, msm.Scalars{Bits: []uint64{0}}, "Bits", -1},
		{3, msm.Scalars{Bits: []uint64{8}}, "Bits", 3},
		{65, msm.Scalars{Bits: []uint64{0, 1 << 63}}, "Bits", 127},
		{3, msm.Scalars{Bits: []uint64{0}, Tail: []fr.Element{one}}, "Tail", -1},
		{3, msm.Scalars{Bits: []uint64{0}, TailAt: []uint32{1}}, "Tail", -1},
		{3, msm.Scalars{Tail: []fr.Element{one}, TailAt: []uint32{1}}, "Bits", -1},
		{3, msm.Scalars{Bits: []uint64{0}, Tail: []fr.Element{one}, TailAt: []uint32{3}}, "TailAt", 0},
		{3, msm.Scalars{Bits: []uint64{0}, Tail: []fr.Element{one}, TailAt: []uint32{1<<32 - 1}}, "TailAt", 0},
		{3, msm.Scalars{Bits: []uint64{0}, Tail: []fr.Element{one, one}, TailAt: []uint32{1, 1}}, "TailAt", 1},
		{3, msm.Scalars{Bits: []uint64{0}, Tail: []fr.Element{one, one}, TailAt: []uint32{2, 1}}, "TailAt", 1},
		{3, msm.Scalars{Bits: []uint64{4}, Tail: []fr.Element{one, one}, TailAt: []uint32{1, 2}}, "TailAt", 1},
	}
	all := g.multiples(dense(65))
	for i, c := range cases {
		_, err := g.sum(context.Background(), all[:c.n], c.k, msm.Config{})
		var se *msm.ScalarsError
		require.ErrorAs(t, err, &se, "case %d", i)
		require.ErrorIs(t, err, msm.ErrScalars)
		require.Equal(t, c.field, se.Field, "case %d", i)
		require.Equal(t, c.index, se.Index, "case %d", i)
		require.Contains(t, err.Error(), c.field)
	}
	for _, cfg := range []msm.Config{{WindowBits: 1}, {WindowBits: -3}, {WindowBits: 23}, {Threads: -1}, {PassPoints: -1}, {PassPoints: 1 << 30}, {Kernel: 77}} {
		_, err := g.sum(context.Background(), all[:3], msm.Scalars{Dense: dense(3)}, cfg)
		require.ErrorIs(t, err, msm.ErrConfig, "%+v", cfg)
	}
}

// testCancel ends contexts before and during the work: the error is the context's, and
// no goroutine stays.
func testCancel[P comparable](t *testing.T, g *group[P], o Options) {
	logs := randomElements(o.Large, 8)
	points := g.multiples(logs)
	rng := rand.New(rand.NewPCG(1, 9))
	k := randomElements(o.Large, 9)
	s := split(o.Large, k, func(int) byte { return "bt"[rng.IntN(2)] })
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, k := range []msm.Scalars{{Dense: k}, s.k} {
		_, err := g.sum(ended, points, k, msm.Config{})
		require.ErrorIs(t, err, context.Canceled)
		start := time.Now()
		_, err = g.sum(context.Background(), points, k, msm.Config{})
		require.NoError(t, err)
		took := time.Since(start)
		goroutines := runtime.NumGoroutine()
		for i := range 8 {
			ctx, cancel := context.WithTimeout(context.Background(), took*time.Duration(i)/8)
			if _, err := g.sum(ctx, points, k, msm.Config{}); err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			cancel()
		}
		requireGoroutines(t, goroutines)
	}
	_, err := g.sum(ended, nil, msm.Scalars{}, msm.Config{})
	require.ErrorIs(t, err, context.Canceled)
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

func testConcurrent[P comparable](t *testing.T, g *group[P], o Options) {
	n := min(o.Large, 3000)
	logs, k := randomElements(n, 30), mixedScalars(n)
	points := g.multiples(logs)
	want := g.expect(logs, k)
	var wg sync.WaitGroup
	var got [4]P
	var errs [4]error
	for i := range got {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got[i], errs[i] = g.sum(context.Background(), points, msm.Scalars{Dense: k}, msm.Config{WindowBits: 4 + i})
		}()
	}
	wg.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		require.True(t, got[i] == want)
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func element(v int64) fr.Element {
	var e fr.Element
	return *e.SetBigInt(big.NewInt(v))
}
