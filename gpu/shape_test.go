package gpu

import (
	"context"
	"encoding/binary"
	"flag"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/span"
	"github.com/filgroth/filgroth/synth"
)

var (
	shapeName = flag.String("shape", "porep-2k", "the deployed circuit of TestShape")
	shapeRuns = flag.Int("shape.runs", 1, "measured runs of TestShape")
	shapeRes  = flag.String("shape.residence", "auto", "of the key: auto, resident, streamed")
	shapeMem  = flag.Int64("shape.budget", 0, "device bytes")
	shapeMany = flag.Int("shape.circuits", 1, "circuits that TestShape sums at once")
	shapePin  = flag.String("shape.pinning", "auto", "how the witness gets to the device: auto, ring, none, register, register-once, pool")
	shapeB2   = flag.String("shape.b2", "auto", "where section b_g2 is summed: auto, sequential, parallel, device")
)

// TestShape runs all sums of a deployed circuit, full size if asked, with random values and a key of the right shape:
// its points repeat a pattern of known multiples of the generators, so that every sum has a closed form.
func TestShape(t *testing.T) {
	d, real := testDevice(t, Options{MemoryBudget: *shapeMem})
	if !real {
		t.Skip("takes a GPU")
	}
	ctx := context.Background()
	start := time.Now()
	sh, err := shapes.Parse(*shapeName)
	require.NoError(t, err)
	circuit, err := sh.Blank()
	require.NoError(t, err)
	sys, err := synth.Compile(ctx, circuit)
	require.NoError(t, err)
	t.Logf("compiled in %v: %v", time.Since(start), sys)
	p := newPattern(t, d, 1<<14)
	key, err := groth16.NewProvingKey(p.file(sys))
	require.NoError(t, err)
	defer func() { require.NoError(t, key.Close()) }()
	a := randomAssignment(t, sys)
	var cfg groth16.Config
	for _, r := range []groth16.Residence{groth16.ResidenceResident, groth16.ResidenceStreamed} {
		if r.String() == *shapeRes {
			cfg.Key.Residence = r
		}
	}
	cfg.Pinning.Policy, err = pinning.ParsePolicy(*shapePin)
	require.NoError(t, err)
	cfg.B2.Place, err = groth16.ParsePlace(*shapeB2)
	require.NoError(t, err)
	start = time.Now()
	gs, err := d.Bind(ctx, sys, key, cfg)
	require.NoError(t, err)
	s := gs.(*session)
	defer func() { require.NoError(t, s.Close()) }()
	t.Logf("bound in %v: resident %t, low memory %t, %d circuits a call, %d quotients a pass, ranges of %v, %v, device %+v", time.Since(start),
		s.c.resident, s.c.lowMemory, s.c.circuits, s.c.quotients, s.c.chunks, s.Footprint(*shapeMany), d.Held())
	checkRows(t, s, a)
	many := timedSums(t, s, a)
	got := many[0]
	for _, g := range many[1:] {
		require.True(t, g.H.Equal(&got.H) && g.L.Equal(&got.L) && g.A.Equal(&got.A) && g.B1.Equal(&got.B1) && g.B2.Equal(&got.B2))
	}
	t.Logf("device %+v", d.Held())
	h := make([]fr.Element, 1<<s.log)
	onDevice(t, s, a, func(cancel *int32) []result {
		if !s.c.lowMemory {
			return []result{d.lib.sessionEvaluate(s.h, 0, 0, allAtOnce), d.lib.sessionQuotient(s.h, 0, allAtOnce, cancel),
				d.lib.sessionCoefficients(s.h, 0, h)}
		}
		var rs []result
		for k := range 3 {
			rs = append(rs, d.lib.sessionEvaluate(s.h, 0, 0, k), d.lib.sessionQuotient(s.h, 0, k, cancel))
		}
		return append(rs, d.lib.sessionCoefficients(s.h, 0, h))
	})
	p.check(t, sys, a, h, got)
}

func timedSums(t *testing.T, s *session, a *synth.Assignment) []groth16.Sums {
	as := slices.Repeat([]*synth.Assignment{a}, max(1, *shapeMany))
	phases := map[string][]float64{}
	var out []groth16.Sums
	for range *shapeRuns {
		rec := span.NewRecorder()
		start := time.Now()
		var err error
		out, err = s.Sums(span.With(context.Background(), rec), as)
		require.NoError(t, err)
		phases["~all"] = append(phases["~all"], time.Since(start).Seconds())
		sum := map[string]float64{}
		for _, r := range rec.Records() {
			sum[r.Name] += r.Duration().Seconds()
		}
		for k, v := range sum {
			phases[k] = append(phases[k], v)
		}
	}
	var names []string
	for k := range phases {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		slices.Sort(phases[k])
		t.Logf("TIME %-14s median %8.1f ms  least %8.1f ms", k, phases[k][len(phases[k])/2]*1e3, phases[k][0]*1e3)
	}
	return out
}

// randomAssignment does not satisfy the system, which no sum cares about.
func randomAssignment(t *testing.T, sys *synth.System) *synth.Assignment {
	a, err := synth.NewAssignment(sys)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	r := rand.New(rand.NewPCG(1, 2))
	for i, isBit := range sys.Bits() {
		a.Bits[i] = r.Uint64() & isBit
	}
	for i := range a.Fields {
		a.Fields[i] = randomElement(r)
	}
	for i := range a.Inputs[1:] {
		a.Inputs[i+1] = randomElement(r)
	}
	return a
}

func randomElement(r *rand.Rand) fr.Element {
	e := fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 2}
	return e
}

// onDevice makes calls after the witness was sent to slot 0.
func onDevice(t *testing.T, s *session, a *synth.Assignment, f func(cancel *int32) []result) {
	require.NoError(t, s.d.submit(context.Background(), func(cancel *int32) error {
		rs := []result{s.d.lib.sessionBegin(s.h), s.d.lib.sessionWitness(s.h, 0, a, cancel)}
		for _, r := range append(rs, f(cancel)...) {
			if err := r.err(s.d.opts.Ordinal); err != nil {
				return err
			}
		}
		return nil
	}))
}

func checkRows(t *testing.T, s *session, a *synth.Assignment) {
	n := s.sys.Constraints()
	e := synth.Evaluations{A: make([]fr.Element, n), B: make([]fr.Element, n), C: make([]fr.Element, n)}
	onDevice(t, s, a, func(*int32) []result {
		var rs []result
		if !s.c.lowMemory {
			rs = append(rs, s.d.lib.sessionEvaluate(s.h, 0, 0, allAtOnce))
		}
		for k, v := range [][]fr.Element{e.A, e.B, e.C} {
			if s.c.lowMemory {
				rs = append(rs, s.d.lib.sessionEvaluate(s.h, 0, 0, k))
			}
			rs = append(rs, s.d.lib.sessionRows(s.h, 0, k, v))
		}
		return rs
	})
	const step = 1 << 16
	var w [3][step]fr.Element
	bad := 0
	for lo := 0; lo < n && bad < 5; lo += max(step, n/64) {
		hi := min(lo+step, n)
		require.NoError(t, s.sys.EvaluateRows(context.Background(), a, lo, hi, w[0][:hi-lo], w[1][:hi-lo], w[2][:hi-lo]))
		for i := lo; i < hi && bad < 5; i++ {
			if e.A[i] != w[0][i-lo] || e.B[i] != w[1][i-lo] || e.C[i] != w[2][i-lo] {
				t.Errorf("row %d differs", i)
				bad++
			}
		}
	}
}

// pattern is n multiples of the generators of both groups.
type pattern struct {
	k      []fr.Element
	g1, g2 []byte
}

func newPattern(t *testing.T, d *Device, n int) *pattern {
	r := rand.New(rand.NewPCG(3, 4))
	p := &pattern{k: make([]fr.Element, n), g1: make([]byte, 96*n), g2: make([]byte, 192*n)}
	for i := range p.k {
		p.k[i] = randomElement(r)
	}
	require.NoError(t, d.FixedBase().G1(context.Background(), p.k, p.g1))
	require.NoError(t, d.FixedBase().G2(context.Background(), p.k, p.g2))
	for _, i := range []int{0, 1, n - 1} {
		var k big.Int
		p.k[i].BigInt(&k)
		_, _, g1, g2 := bls12381.Generators()
		g1.ScalarMultiplication(&g1, &k)
		g2.ScalarMultiplication(&g2, &k)
		b1, b2 := g1.RawBytes(), g2.RawBytes()
		require.Equal(t, b1[:], p.g1[96*i:][:96])
		require.Equal(t, b2[:], p.g2[192*i:][:192])
	}
	return p
}

// patternFile is a parameter file that is made as it is read.
type patternFile struct {
	head   []byte
	starts []int64 // of the parts after head
	parts  [][]byte
	size   int64
}

// file is a key for sys whose sections repeat the pattern.
func (p *pattern) file(sys *synth.System) (*patternFile, int64) {
	f := &patternFile{}
	_, _, g1, g2 := bls12381.Generators()
	b1, b2 := g1.RawBytes(), g2.RawBytes()
	for _, b := range [][]byte{b1[:], b1[:], b2[:], b2[:], b1[:], b2[:]} {
		f.head = append(f.head, b...)
	}
	f.head = binary.BigEndian.AppendUint32(f.head, uint32(sys.Inputs()))
	for range sys.Inputs() {
		f.head = append(f.head, b1[:]...)
	}
	f.size = int64(len(f.head))
	for s, n := range groth16.SectionLengths(sys) {
		src := p.g1
		if groth16.Section(s) == groth16.SectionB2 {
			src = p.g2
		}
		f.add(binary.BigEndian.AppendUint32(nil, uint32(n)), 4)
		f.add(src, int64(n)*int64(groth16.Section(s).PointSize()))
	}
	return f, f.size
}

func (f *patternFile) add(repeat []byte, size int64) {
	f.starts = append(f.starts, f.size)
	f.parts = append(f.parts, repeat)
	f.size += size
}

func (f *patternFile) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) && off < f.size {
		var m int
		if off < int64(len(f.head)) {
			m = copy(b[n:], f.head[off:])
		} else {
			i := sort.Search(len(f.starts), func(i int) bool { return f.starts[i] > off }) - 1
			end := f.size
			if i+1 < len(f.starts) {
				end = f.starts[i+1]
			}
			src := f.parts[i][(off-f.starts[i])%int64(len(f.parts[i])):]
			m = copy(b[n:min(int64(len(b)), int64(n)+end-off)], src)
		}
		n, off = n+m, off+int64(m)
	}
	return n, nil
}

// check compares sums with their closed forms.
func (p *pattern) check(t *testing.T, sys *synth.System, a *synth.Assignment, h []fr.Element, got groth16.Sums) {
	acc := make([]fr.Element, len(p.k))
	total := func() *big.Int {
		var s, x fr.Element
		for i := range acc {
			s.Add(&s, x.Mul(&acc[i], &p.k[i]))
			acc[i] = fr.Element{}
		}
		return s.BigInt(new(big.Int))
	}
	_, _, gen1, gen2 := bls12381.Generators()
	g1 := func(name string, k *big.Int, sum *bls12381.G1Jac) {
		var w bls12381.G1Affine
		var j bls12381.G1Jac
		w.ScalarMultiplication(&gen1, k)
		j.FromAffine(&w)
		if !j.Equal(sum) {
			t.Errorf("the sum %s is wrong", name)
		}
	}
	for i := range h[:len(h)-1] {
		x := &acc[i%len(acc)]
		x.Add(x, &h[i])
	}
	g1("H", total(), &got.H)
	values := append(slices.Clone(a.Inputs), a.Fields...)
	for _, sec := range []groth16.Section{groth16.SectionL, groth16.SectionA, groth16.SectionB1} {
		l, err := listsFor(context.Background(), sys, sec)
		require.NoError(t, err)
		one := fr.One()
		nb, nv := 0, 0
		for i := range l.points() {
			x := &acc[i%len(acc)]
			if l.mask[i>>6]>>(i&63)&1 == 1 {
				x.Add(x, &values[l.valueAt[nv]])
				nv++
				continue
			}
			if v := l.bitAt[nb]; a.Bits[v>>6]>>(v&63)&1 == 1 {
				x.Add(x, &one)
			}
			nb++
		}
		require.NoError(t, l.close())
		k := total()
		switch sec {
		case groth16.SectionL:
			g1("L", k, &got.L)
		case groth16.SectionA:
			g1("A", k, &got.A)
		default:
			g1("B1", k, &got.B1)
			var w bls12381.G2Affine
			var j bls12381.G2Jac
			w.ScalarMultiplication(&gen2, k)
			j.FromAffine(&w)
			if !j.Equal(&got.B2) {
				t.Error("the sum B2 is wrong")
			}
		}
	}
}
