package gpu

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// fixture is a system with its key, and some assignments with the sums that they have.
type fixture struct {
	sys  *synth.System
	key  *groth16.ProvingKey
	as   []*synth.Assignment
	want []groth16.Sums
}

func newFixture(t testing.TB, c groth16test.Circuit, n int) *fixture {
	t.Helper()
	ctx := context.Background()
	f := &fixture{}
	var err error
	f.sys, err = synth.Compile(ctx, c)
	require.NoError(t, err)
	trap := groth16.DevTrapdoor(fmt.Sprintf("gpu fixture %d", c.Seed))
	f.key, err = groth16.Setup(ctx, f.sys, groth16.SetupOptions{Trapdoor: trap})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.key.Close()) })
	for range n {
		a, err := synth.AssignWitness(ctx, c, f.sys, synth.AssignConfig{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		want, err := groth16test.Expected(ctx, f.sys, a, trap)
		require.NoError(t, err)
		f.as, f.want = append(f.as, a), append(f.want, want)
		c.Values++ // another witness
	}
	return f
}

func (f *fixture) check(t testing.TB, got []groth16.Sums, what ...any) {
	t.Helper()
	require.Len(t, got, len(f.want))
	for i, g := range got {
		w := &f.want[i]
		require.True(t, g.H.Equal(&w.H), "H of circuit %d, %v", i, what)
		require.True(t, g.L.Equal(&w.L), "L of circuit %d, %v", i, what)
		require.True(t, g.A.Equal(&w.A), "A of circuit %d, %v", i, what)
		require.True(t, g.B1.Equal(&w.B1), "B1 of circuit %d, %v", i, what)
		require.True(t, g.B2.Equal(&w.B2), "B2 of circuit %d, %v", i, what)
	}
}

// planned is a plan to be tested, and how a and b and c come about.
type planned struct {
	name           string
	resident, low  bool
	quotients      int
	evaluate       groth16.Place
	brought        bool // by the assignment
	chunk, circuit int
	policy         pinning.Policy
}

func (p planned) config() groth16.Config {
	cfg := groth16.Config{Evaluate: p.evaluate, CircuitsPerCall: p.circuit, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed, ChunkPoints: p.chunk}}
	if p.resident {
		cfg.Key = groth16.KeyConfig{Residence: groth16.ResidenceResident}
	}
	cfg.Pinning.Policy = p.policy
	return cfg
}

func (p planned) is(c *sessionConfig) bool {
	return c.resident == p.resident && c.lowMemory == p.low && c.quotients == p.quotients
}

var allPlans = []planned{
	{name: "resident", resident: true, quotients: 1},
	{name: "resident, low memory", resident: true, low: true, quotients: 1},
	{name: "streamed", quotients: 2, circuit: 3, chunk: 150},
	{name: "streamed, low memory", low: true, quotients: 2, circuit: 3, chunk: 99},
	{name: "streamed, low memory, one quotient", low: true, quotients: 1, circuit: 2, chunk: 1000},
	{name: "low memory, values from the host", low: true, quotients: 3, circuit: 3, chunk: 128, evaluate: groth16.PlaceHost},
	{name: "low memory, values brought", resident: true, low: true, quotients: 1, brought: true},
	{name: "values brought", resident: true, quotients: 1, brought: true},
	{name: "values brought, registered", resident: true, quotients: 1, brought: true, policy: pinning.PolicyRegister},
	{name: "values brought, registered once", resident: true, low: true, quotients: 1, brought: true, policy: pinning.PolicyRegisterOnce},
}

// TestPlans: whatever the plan, the sums are the same; and each works with exactly the bytes that it asks for, but not
// with one less.
func TestPlans(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 11, Values: 1, Inputs: 2, Bits: 90, Fields: 12, Products: 9, Blocks: 1, Rows: 140}, 3)
	for _, p := range allPlans {
		t.Run(p.name, func(t *testing.T) {
			if p.brought {
				f.bringValues(t)
			}
			need := needOf(t, d, f, p)
			exact, err := openOn(d.lib, Options{MemoryBudget: need, Ordinal: d.opts.Ordinal})
			require.NoError(t, err)
			defer func() { require.NoError(t, exact.Close()) }()
			exact.choose = p.is
			exact.ResetPeak()
			got, err := exact.sumsOf(f, p.config())
			require.NoError(t, err)
			f.check(t, got)
			require.LessOrEqual(t, exact.Held().DevicePeak, need)

			less, err := openOn(d.lib, Options{MemoryBudget: need - 1, Ordinal: d.opts.Ordinal})
			require.NoError(t, err)
			defer func() { require.NoError(t, less.Close()) }()
			less.choose = func(c *sessionConfig) bool { return p.is(c) && c.slots >= p.slots() }
			_, err = less.Bind(context.Background(), f.sys, f.key, p.config())
			require.ErrorIs(t, err, ErrOutOfDeviceMemory)
		})
	}
}

// slots are those of the plan that needs the most.
func (p planned) slots() int {
	if p.resident {
		return 2
	}
	return p.circuit
}

// needOf is what the plan needs by its own account.
func needOf(t *testing.T, d *Device, f *fixture, p planned) int64 {
	var need uint64
	d.choose = func(c *sessionConfig) bool {
		if !p.is(c) || c.slots != p.slots() {
			return false
		}
		b, r := d.lib.sessionPlan(d.h, c)
		require.NoError(t, r.err(0))
		need = b.held + b.circuit*uint64(c.slots) + b.leastArena
		return true
	}
	defer func() { d.choose = nil }()
	s, err := d.Bind(context.Background(), f.sys, f.key, p.config())
	require.NoError(t, err)
	require.True(t, p.is(&s.(*session).c))
	require.NoError(t, s.Close())
	require.NoError(t, d.Trim())
	require.NotZero(t, need)
	return int64(need)
}

func (d *Device) sumsOf(f *fixture, cfg groth16.Config) ([]groth16.Sums, error) {
	ctx := context.Background()
	s, err := d.Bind(ctx, f.sys, f.key, cfg)
	if err != nil {
		return nil, err
	}
	got, err := s.Sums(ctx, f.as)
	return got, errors.Join(err, s.Close())
}

// bringValues gives each assignment its own evaluations.
func (f *fixture) bringValues(t *testing.T) {
	n := f.sys.Constraints()
	for _, a := range f.as {
		buf, err := pinning.Alloc(3*fr.Bytes*n, "test evaluations")
		require.NoError(t, err)
		v := pinning.Slice[fr.Element](buf, 3*n)
		e := &synth.Evaluations{A: v[:n:n], B: v[n : 2*n : 2*n], C: v[2*n:]}
		require.NoError(t, f.sys.Evaluate(context.Background(), a, e.A, e.B, e.C, 1))
		a.Eval = e
		t.Cleanup(func() {
			a.Eval = nil
			require.NoError(t, buf.Close())
		})
	}
}

// TestQuotientsAgree: both ways to make a quotient, with transforms of several passes, give the same coefficients, from
// values of the device and of the host.
func TestQuotientsAgree(t *testing.T) {
	d, _ := testDevice(t, Options{})
	f := newFixture(t, groth16test.Circuit{Seed: 12, Values: 1, Inputs: 3, Bits: 20, Fields: 9, Products: 9, Blocks: 1, Rows: 5000}, 1)
	f.bringValues(t)
	a, m := f.as[0], f.sys.DomainSize()
	require.Equal(t, 8192, m)
	var all [][]fr.Element
	for _, p := range []planned{{quotients: 1, circuit: 1, chunk: 64}, {low: true, quotients: 1, circuit: 1, chunk: 64}} {
		d.choose = p.is
		gs, err := d.Bind(context.Background(), f.sys, f.key, p.config())
		require.NoError(t, err)
		s := gs.(*session)
		for _, e := range []*synth.Evaluations{nil, a.Eval} {
			h := make([]fr.Element, m)
			w := &work{session: s, ctx: context.Background(), as: []*synth.Assignment{a}, slots: []int{0}}
			with := *a
			with.Eval = e
			w.as[0] = &with
			onDevice(t, s, a, func(cancel *int32) []result {
				w.cancel = cancel
				require.NoError(t, w.quotient(0, 0))
				return []result{d.lib.sessionCoefficients(s.h, 0, h)}
			})
			all = append(all, h)
		}
		rows := make([]fr.Element, f.sys.Constraints())
		onDevice(t, s, a, func(*int32) []result {
			matrix := allAtOnce
			if p.low {
				matrix = 1
			}
			return []result{d.lib.sessionEvaluate(s.h, 0, 0, matrix), d.lib.sessionRows(s.h, 0, 1, rows)}
		})
		require.Equal(t, a.Eval.B, rows)
		require.NoError(t, s.Close())
	}
	d.choose = nil
	for _, h := range all {
		require.Equal(t, all[0], h)
	}
}

// porep32 is the shape of a partition of a 32 GiB PoRep. The tables of its system are counted generously.
func porep32() sessionConfig {
	const aux, b = 130_169_893, 33_112_281
	return sessionConfig{
		shape: systemShape{inputs: 328, aux: aux, rows: 130_278_541, fields: 1_699_102, coeffs: 1 << 16, templates: 64, instances: 1 << 20,
			wires: 1 << 23, pointers: 1 << 22, terms: 1 << 23},
		counts: [groth16.NumSections]int{1<<27 - 1, aux, aux, b, b},
		tails:  [groth16.NumSections]int{1<<27 - 1, 1_699_102, 1_290_000, 1_230_000, 1_230_000},
		log:    27, hasSystem: true,
	}
}

// TestPlanLimits: what is planned for budgets of a small card, with the shape of a partition of a 32 GiB PoRep.
func TestPlanLimits(t *testing.T) {
	d, _ := testDevice(t, Options{})
	for _, c := range []struct {
		budget    int64
		low       bool
		circuits  int
		quotients int
		chunk     int
	}{
		{11 << 30, true, 10, 1, 1 << 22},
		{12 << 30, true, 10, 1, 1 << 23},
		{15 << 30, true, 10, 2, 1 << 22},
		{16 << 30, true, 10, 2, 1 << 23},
		{24 << 30, true, 10, 4, 1 << 23},
		{40 << 30, false, 10, 4, 1 << 23},
	} {
		var got *sessionConfig
		require.NoError(t, d.submit(context.Background(), func(*int32) error {
			s := &session{cfg: groth16.Config{Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}}}
			for p := range s.candidates(porep32()) {
				b, r := d.lib.sessionPlan(d.h, &p)
				if r.code != codeOK {
					return r.err(0)
				}
				if need := int64(b.held + b.circuit*uint64(p.slots) + b.leastArena); need <= c.budget {
					t.Logf("budget %d: need %d = held %d + %d circuits of %d + arena %d at least: low memory %t, %d quotients, ranges of %v",
						c.budget, need, b.held, p.slots, b.circuit, b.leastArena, p.lowMemory, p.quotients, p.chunks)
					got = &p
					return nil
				}
			}
			return nil
		}))
		require.NotNil(t, got, "budget %d", c.budget)
		require.Equal(t, []any{c.low, c.circuits, c.quotients, c.chunk}, []any{got.lowMemory, got.circuits, got.quotients, got.chunks[0]}, "budget %d", c.budget)
	}
}
