package groth16test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/internal/l1"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// Options adapt the suite to a backend; the zero value serves.
type Options struct {
	// Configs are the configurations to draw from besides random windows; a configuration that the backend refuses with
	// ErrUnavailable is not a failure. Nil is a choice that touches every field.
	Configs []groth16.Config
	// Large adds a circuit of some 2^15 rows.
	Large bool
	// IdlePurposes are purposes of pinning buffers that the backend may keep between calls and sessions.
	IdlePurposes []string
}

// Run checks that a backend computes the sums of a trapdoor's key as field arithmetic says, for random circuits and the
// corner cases of densities and domains; that batches, concurrency and configurations change nothing; that cancellation
// and Close give everything back; and that proofs for recorded blinding are the deployed stack's, byte by byte.
func Run(t *testing.T, b groth16.Backend, o Options) {
	s := &suite{b: b, o: o}
	t.Run("sums", s.sums)
	t.Run("domains", s.domains)
	t.Run("golden", s.golden)
	t.Run("evaluations", s.evaluations)
	t.Run("batch", s.batch)
	t.Run("concurrent", s.concurrent)
	t.Run("configs", s.configs)
	t.Run("cancel", s.cancel)
	t.Run("closed", s.closed)
	t.Run("refused", s.refused)
}

type suite struct {
	b groth16.Backend
	o Options
}

// bound is a circuit with everything that a session needs.
type bound struct {
	circuit Circuit
	sys     *synth.System
	key     *groth16.ProvingKey
	trap    *groth16.Trapdoor
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func makeBound(t testing.TB, c Circuit) *bound {
	t.Helper()
	ctx := context.Background()
	sys, err := synth.Compile(ctx, c)
	check(t, err)
	x := &bound{circuit: c, sys: sys, trap: groth16.DevTrapdoor(fmt.Sprintf("groth16test/%d", c.Seed))}
	x.key, err = groth16.Setup(ctx, sys, groth16.SetupOptions{Trapdoor: x.trap})
	check(t, err)
	t.Cleanup(func() { check(t, x.key.Close()) })
	return x
}

func (x *bound) assign(t testing.TB, values uint64) *synth.Assignment {
	t.Helper()
	c := x.circuit
	c.Values = values
	a, err := synth.AssignWitness(context.Background(), c, x.sys, synth.AssignConfig{})
	check(t, err)
	t.Cleanup(func() { check(t, a.Close()) })
	return a
}

func (s *suite) bind(t testing.TB, x *bound, cfg groth16.Config) groth16.Session {
	t.Helper()
	sess, err := s.b.Bind(context.Background(), x.sys, x.key, cfg)
	check(t, err)
	return sess
}

// compare checks sums against the trapdoor.
func compare(t testing.TB, x *bound, a *synth.Assignment, got *groth16.Sums) {
	t.Helper()
	want, err := Expected(context.Background(), x.sys, a, x.trap)
	check(t, err)
	for _, c := range []struct {
		name string
		ok   bool
	}{{"H", got.H.Equal(&want.H)}, {"L", got.L.Equal(&want.L)}, {"A", got.A.Equal(&want.A)}, {"B1", got.B1.Equal(&want.B1)}, {"B2", got.B2.Equal(&want.B2)}} {
		if !c.ok {
			t.Errorf("%+v: the sum %s is wrong", x.circuit, c.name)
		}
	}
}

// once binds, sums one assignment and compares.
func (s *suite) once(t *testing.T, c Circuit) {
	s.balance(t)
	x := makeBound(t, c)
	a := x.assign(t, c.Seed+100)
	before := fingerprint(a)
	sess := s.bind(t, x, groth16.Config{})
	got, err := sess.Sums(context.Background(), []*synth.Assignment{a})
	check(t, err)
	if len(got) != 1 {
		t.Fatalf("%d sums for one circuit", len(got))
	}
	compare(t, x, a, &got[0])
	if fingerprint(a) != before {
		t.Error("the assignment was changed")
	}
	check(t, sess.Close())
}

func fingerprint(a *synth.Assignment) uint64 {
	h := fnv.New64a()
	a.WitnessBytes(func(v *[32]byte) { h.Write(v[:]) })
	return h.Sum64()
}

// balance checks that buffers and goroutines are back where they were when the test ends.
func (s *suite) balance(t *testing.T) {
	live, routines := s.live(), runtime.NumGoroutine()
	t.Cleanup(func() {
		if now := s.live(); now != live {
			t.Errorf("%d bytes of buffers before, %d after: %v", live, now, pinning.Live())
		}
		for i := 0; i < 200 && runtime.NumGoroutine() > routines; i++ {
			time.Sleep(5 * time.Millisecond)
		}
		if n := runtime.NumGoroutine(); n > routines {
			t.Errorf("%d goroutines before, %d after", routines, n)
		}
	})
}

func (s *suite) live() (n int64) {
next:
	for _, u := range pinning.Live() {
		for _, p := range s.o.IdlePurposes {
			if u.Purpose == p {
				continue next
			}
		}
		n += u.Bytes
	}
	return n
}

func (s *suite) sums(t *testing.T) {
	cases := map[string]Circuit{
		"empty":       {},
		"inputs only": {Inputs: 5},
		"one bit":     {Bits: 1},
		"one field":   {Fields: 1},
		"no inputs":   {Bits: 100, Fields: 7, Products: 20},
		"fields only": {Inputs: 3, Fields: 70, Products: 40},
		"bits only":   {Inputs: 1, Bits: 500},
		"many inputs": {Inputs: 150, Bits: 70, Fields: 3, Products: 100},
		"blocks":      {Inputs: 2, Bits: 200, Fields: 10, Products: 30, Blocks: 40},
	}
	for _, p := range []Pattern{BAll, BNone, BAlternating, BLeading, BTrailing} {
		cases["B "+p.String()] = Circuit{Seed: uint64(p), Inputs: 2, Bits: 300, Fields: 20, B: p}
	}
	if s.o.Large {
		cases["large"] = Circuit{Seed: 9, Inputs: 20, Bits: 15000, Fields: 500, Products: 2000, Blocks: 1000, B: BAlternating}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { s.once(t, c) })
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 12 {
		c := Circuit{Seed: uint64(1000 + i), Inputs: r.IntN(6), Bits: r.IntN(700), Fields: r.IntN(60), Products: r.IntN(120), Blocks: r.IntN(20),
			B: Pattern(r.IntN(5))}
		t.Run(fmt.Sprintf("random %d", i), func(t *testing.T) { s.once(t, c) })
	}
}

// domains has numbers of constraints, the appended input rows counted, around powers of two.
func (s *suite) domains(t *testing.T) {
	for _, n := range []int{15, 16, 17, 255, 256, 257, 1025} {
		const inputs = 2
		c := Circuit{Seed: uint64(n), Inputs: inputs, Bits: 5, Fields: 1, Rows: n - inputs - 1}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sys, err := synth.Compile(context.Background(), c)
			check(t, err)
			if sys.Constraints() != n {
				t.Fatalf("%d constraints, want %d", sys.Constraints(), n)
			}
			s.once(t, c)
		})
	}
}

func (s *suite) golden(t *testing.T) {
	s.balance(t)
	ctx := context.Background()
	for _, name := range []string{"cubic", "edge", "mimc"} {
		c, err := l1.Load(name)
		check(t, err)
		b, err := l1.File(name + ".params")
		check(t, err)
		key, err := groth16.ParseProvingKey(b)
		check(t, err)
		for _, bits := range []bool{false, true} {
			circuit := l1.Replay{Dump: c.Dump, Bits: bits}
			sys, err := synth.Compile(ctx, circuit)
			check(t, err)
			a, err := synth.AssignWitness(ctx, circuit, sys, synth.AssignConfig{})
			check(t, err)
			p, err := groth16.NewProver(ctx, s.b, sys, key, groth16.Config{})
			check(t, err)
			for _, want := range c.Proofs {
				proof, _, err := p.Prove(FixedRS(t, ctx, [2]fr.Element{want.R.Element, want.S.Element}), a)
				check(t, err)
				if got := proof.Bytes(); hex.EncodeToString(got[:]) != want.Hex {
					t.Errorf("%s, %s: proof %x, the deployed stack's is %s", name, want.Label, got, want.Hex)
				}
			}
			check(t, p.Close())
			check(t, a.Close())
		}
		check(t, key.Close())
	}
}

// evaluations gives assignments that bring a, b, c: they are used as they are.
func (s *suite) evaluations(t *testing.T) {
	s.balance(t)
	ctx := context.Background()
	x := makeBound(t, medium)
	a := x.assign(t, 3)
	n := x.sys.Constraints()
	e := &synth.Evaluations{A: make([]fr.Element, n), B: make([]fr.Element, n), C: make([]fr.Element, n)}
	check(t, x.sys.Evaluate(ctx, a, e.A, e.B, e.C, 0))
	a.Eval = e
	sess := s.bind(t, x, groth16.Config{})
	got, err := sess.Sums(ctx, []*synth.Assignment{a})
	check(t, err)
	compare(t, x, a, &got[0])
	e.A[n/2].SetUint64(123456789) // a wrong value shows in H, and only there
	wrong, err := sess.Sums(ctx, []*synth.Assignment{a})
	check(t, err)
	if wrong[0].H.Equal(&got[0].H) {
		t.Error("the evaluations that the assignment brings were not used")
	}
	if !wrong[0].L.Equal(&got[0].L) || !wrong[0].B2.Equal(&got[0].B2) {
		t.Error("evaluations changed L or B2")
	}
	e.C = e.C[1:]
	if _, err := sess.Sums(ctx, []*synth.Assignment{a}); !errors.Is(err, synth.ErrShape) {
		t.Errorf("evaluations of a wrong length: %v", err)
	}
	check(t, sess.Close())
}

var medium = Circuit{Seed: 77, Inputs: 3, Bits: 900, Fields: 60, Products: 150, Blocks: 20, B: BAlternating}

func (s *suite) batch(t *testing.T) {
	s.balance(t)
	x := makeBound(t, medium)
	sess := s.bind(t, x, groth16.Config{})
	var as []*synth.Assignment
	for i := range 5 {
		as = append(as, x.assign(t, uint64(i)))
	}
	last := int64(0)
	for n := 0; n <= len(as); n++ {
		got, err := sess.Sums(context.Background(), as[:n])
		check(t, err)
		if len(got) != n {
			t.Fatalf("%d sums for %d circuits", len(got), n)
		}
		for i := range got {
			compare(t, x, as[i], &got[i])
		}
		f := sess.Footprint(n)
		if sum := f.Host + f.Pinned + f.Device; sum < last || n > 0 && sum <= 0 {
			t.Errorf("footprint of %d circuits is %v", n, f)
		} else {
			last = sum
		}
	}
	check(t, sess.Close())
}

func (s *suite) concurrent(t *testing.T) {
	s.balance(t)
	x, y := makeBound(t, medium), makeBound(t, Circuit{Seed: 78, Inputs: 1, Bits: 200, Fields: 90, B: BLeading})
	sessions := []groth16.Session{s.bind(t, x, groth16.Config{}), s.bind(t, y, groth16.Config{}), s.bind(t, x, groth16.Config{})}
	bounds := []*bound{x, y, x}
	var wg sync.WaitGroup
	for i := range 8 {
		k := i % 3
		as := []*synth.Assignment{bounds[k].assign(t, uint64(i)), bounds[k].assign(t, uint64(i+50))}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 3 {
				got, err := sessions[k].Sums(context.Background(), as)
				if err != nil {
					t.Error(err)
					return
				}
				for j := range got {
					compare(t, bounds[k], as[j], &got[j])
				}
			}
		}()
	}
	wg.Wait()
	for _, sess := range sessions {
		check(t, sess.Close())
	}
}

// defaultConfigs touch every field of a Config.
func defaultConfigs() []groth16.Config {
	return []groth16.Config{
		{Threads: 1},
		{B2: groth16.B2Config{Place: groth16.PlaceSequential}},
		{B2: groth16.B2Config{Place: groth16.PlaceParallel, Threads: 2}},
		{B2: groth16.B2Config{Place: groth16.PlaceDevice}},
		{Evaluate: groth16.PlaceHost},
		{Evaluate: groth16.PlaceDevice},
		{Pinning: pinning.Config{Policy: pinning.PolicyNone}},
		{Pinning: pinning.Config{Policy: pinning.PolicyRegister}},
		{Pinning: pinning.Config{Policy: pinning.PolicyRegisterOnce}},
		{Pinning: pinning.Config{Policy: pinning.PolicyPool}},
		{Pinning: pinning.Config{Policy: pinning.PolicyRing, ChunkBytes: 1 << 20}},
		{Key: groth16.KeyConfig{Residence: groth16.ResidenceResident}},
		{Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: 100}},
		{Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}},
	}
}

// configs draws configurations: those that the backend has give the same sums.
func (s *suite) configs(t *testing.T) {
	s.balance(t)
	x := makeBound(t, medium)
	as := []*synth.Assignment{x.assign(t, 1), x.assign(t, 2)}
	base := s.o.Configs
	if base == nil {
		base = defaultConfigs()
	}
	r := rand.New(rand.NewPCG(3, 4))
	window := func() int { return []int{0, 2 + r.IntN(12)}[r.IntN(2)] }
	ran := 0
	for _, cfg := range base {
		cfg.Windows = groth16.Windows{H: window(), L: window(), A: window(), B1: window(), B2: window()}
		if err := cfg.Validate(); err != nil {
			t.Errorf("%v: %v", cfg, err)
		}
		sess, err := s.b.Bind(context.Background(), x.sys, x.key, cfg)
		if errors.Is(err, groth16.ErrUnavailable) {
			t.Logf("unavailable: %v", err)
			continue
		}
		check(t, err)
		ran++
		got, err := sess.Sums(context.Background(), as)
		check(t, err)
		for i := range got {
			compare(t, x, as[i], &got[i])
		}
		check(t, sess.Close())
	}
	if ran == 0 {
		t.Error("no configuration is available")
	}
	_, err := s.b.Bind(context.Background(), x.sys, x.key, groth16.Config{Threads: -1})
	if !errors.Is(err, groth16.ErrConfig) {
		t.Errorf("Threads = -1: %v, want ErrConfig", err)
	}
}

// cancel stops calls at many moments: each gives the right sums or the context's error, and nothing is kept.
func (s *suite) cancel(t *testing.T) {
	s.balance(t)
	x := makeBound(t, medium)
	a := x.assign(t, 1)
	sess := s.bind(t, x, groth16.Config{})
	done, stop := context.WithCancel(context.Background())
	stop()
	if _, err := sess.Sums(done, []*synth.Assignment{a}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before the call: %v", err)
	}
	base := s.live()
	start := time.Now()
	_, err := sess.Sums(context.Background(), []*synth.Assignment{a})
	check(t, err)
	whole := time.Since(start)
	for i := range 16 {
		ctx, stop := context.WithTimeout(context.Background(), whole*time.Duration(i)/16)
		got, err := sess.Sums(ctx, []*synth.Assignment{a})
		stop()
		switch {
		case err == nil:
			compare(t, x, a, &got[0])
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("cancelled in the call: %v", err)
		case got != nil:
			t.Error("sums with an error")
		}
		if now := s.live(); now != base {
			t.Errorf("%d bytes of buffers before, %d after a cancelled call", base, now)
		}
	}
	if _, err := s.b.Bind(done, x.sys, x.key, groth16.Config{}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Bind with a cancelled context: %v", err)
	} else if err == nil {
		t.Error("Bind with a cancelled context gave a session")
	}
	check(t, sess.Close())
}

func (s *suite) closed(t *testing.T) {
	s.balance(t)
	x := makeBound(t, medium)
	a := x.assign(t, 1)
	sess := s.bind(t, x, groth16.Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 3 {
				got, err := sess.Sums(context.Background(), []*synth.Assignment{a})
				if errors.Is(err, groth16.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				compare(t, x, a, &got[0])
			}
		}()
	}
	check(t, sess.Close())
	wg.Wait()
	if _, err := sess.Sums(context.Background(), []*synth.Assignment{a}); !errors.Is(err, groth16.ErrClosed) {
		t.Errorf("Sums after Close: %v", err)
	}
	if err := sess.Close(); !errors.Is(err, groth16.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

// refused has arguments that do not belong together.
func (s *suite) refused(t *testing.T) {
	s.balance(t)
	x, y := makeBound(t, medium), makeBound(t, Circuit{Seed: 5, Bits: 30})
	ctx := context.Background()
	if _, err := s.b.Bind(ctx, x.sys, y.key, groth16.Config{}); !errors.Is(err, groth16.ErrDimension) {
		t.Errorf("key of another system: %v", err)
	}
	sess := s.bind(t, x, groth16.Config{})
	other := y.assign(t, 1)
	gone, err := synth.AssignWitness(ctx, x.circuit, x.sys, synth.AssignConfig{})
	check(t, err)
	check(t, gone.Close())
	for name, a := range map[string]*synth.Assignment{"none": nil, "of another system": other, "closed": gone} {
		if _, err := sess.Sums(ctx, []*synth.Assignment{x.assign(t, 1), a}); !errors.Is(err, synth.ErrShape) {
			t.Errorf("assignment %s: %v", name, err)
		}
	}
	check(t, sess.Close())
}
