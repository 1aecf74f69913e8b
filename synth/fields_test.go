package synth

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// runCircuit mixes runs of field elements with bits, in parallel pieces too; the runs go through AllocFields or one by one.
type runCircuit struct {
	seed  uint64
	apart bool
}

func (c runCircuit) Synthesize(b *Builder) error {
	r := rand.New(rand.NewPCG(c.seed, 7))
	c.piece(b, r)
	return b.Parallel(5, func(i int, b *Builder) error {
		c.piece(b, rand.New(rand.NewPCG(c.seed, uint64(i))))
		return nil
	})
}

func (c runCircuit) piece(b *Builder, r *rand.Rand) {
	for i := 0; i < 12; i++ {
		if n := r.IntN(90); n <= 64 && n > 0 {
			b.AllocBits(r.Uint64()>>(64-n), n)
		}
		v := make([]fr.Element, r.IntN(200))
		for j := range v {
			v[j].SetUint64(r.Uint64())
		}
		at := len(v) / 3
		first := AuxVar(b.aux)
		if !c.apart {
			b.AllocFields(v)
		} else {
			for j := range v {
				b.Alloc(v[j])
			}
		}
		if len(v) > 0 && b.WantRows() {
			x := first + Var(at)
			b.Enforce(b.LC().AddVar(x), b.LC().AddVar(One), b.LC().AddVar(x))
		}
	}
}

func TestAllocFieldsIsAllocManyTimes(t *testing.T) {
	ctx := context.Background()
	for seed := uint64(0); seed < 20; seed++ {
		run, apart := runCircuit{seed, false}, runCircuit{seed, true}
		s1, err := Compile(ctx, run)
		require.NoError(t, err)
		s2, err := Compile(ctx, apart)
		require.NoError(t, err)
		d1, err := s1.Digest(ctx)
		require.NoError(t, err)
		d2, err := s2.Digest(ctx)
		require.NoError(t, err)
		require.Equal(t, d2, d1)
		require.Equal(t, s2.Bits(), s1.Bits())
		want, err := AssignWitness(ctx, apart, s2, AssignConfig{Pages: PagesHuge})
		require.NoError(t, err)
		for _, threads := range []int{1, 3} {
			got, err := AssignWitness(ctx, run, s1, AssignConfig{Threads: threads, Pages: PagesBase})
			require.NoError(t, err)
			require.Equal(t, want.Bits, got.Bits)
			require.Equal(t, want.Fields, got.Fields)
			require.NoError(t, s1.Satisfied(ctx, got, 1))
			require.NoError(t, got.Close())
		}
		direct, err := DirectSynthesize(ctx, run, s1, DirectConfig{})
		require.NoError(t, err)
		require.Equal(t, want.Fields, direct.Fields)
		require.NoError(t, direct.Close())
		require.NoError(t, want.Close())
	}
}

// A witness in the memory of another one is the same as in memory of its own; one that fails leaves the memory to the caller.
func TestAssignInto(t *testing.T) {
	ctx := context.Background()
	shape := func(seed uint64) randomCircuit { return randomCircuit{shape: 3, vals: seed, pieces: 4, broken: -1} }
	s, err := Compile(ctx, shape(0))
	require.NoError(t, err)
	into, err := AssignWitness(ctx, shape(1), s, AssignConfig{})
	require.NoError(t, err)
	bits, fields := &into.Bits[0], &into.Fields[0]
	for seed := uint64(2); seed < 6; seed++ {
		want, err := AssignWitness(ctx, shape(seed), s, AssignConfig{})
		require.NoError(t, err)
		got, err := AssignWitness(ctx, shape(seed), s, AssignConfig{Into: into})
		require.NoError(t, err)
		require.Same(t, into, got)
		require.True(t, bits == &got.Bits[0] && fields == &got.Fields[0])
		require.Equal(t, want.Inputs, got.Inputs)
		require.Equal(t, want.Bits, got.Bits)
		require.Equal(t, want.Fields, got.Fields)
		require.NoError(t, want.Close())
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = AssignWitness(ended, shape(1), s, AssignConfig{Into: into})
	require.ErrorIs(t, err, context.Canceled)
	other, err := Compile(ctx, shape(0))
	require.NoError(t, err)
	_, err = AssignWitness(ctx, shape(1), other, AssignConfig{Into: into})
	require.ErrorIs(t, err, ErrShape)
	require.NoError(t, into.Close())
	_, err = AssignWitness(ctx, shape(1), s, AssignConfig{Into: into})
	require.ErrorIs(t, err, ErrShape)
}

func TestAllocFieldsBeyondTheSystem(t *testing.T) {
	ctx := context.Background()
	small := funcCircuit(func(b *Builder) error { b.AllocFields(make([]fr.Element, 10)); b.AllocBits(0, 5); return nil })
	s, err := Compile(ctx, small)
	require.NoError(t, err)
	for _, n := range []int{9, 11, 16, 1000} {
		_, err = AssignWitness(ctx, funcCircuit(func(b *Builder) error { b.AllocFields(make([]fr.Element, n)); return nil }), s, AssignConfig{})
		require.ErrorIs(t, err, ErrShape)
	}
}

type funcCircuit func(b *Builder) error

func (f funcCircuit) Synthesize(b *Builder) error { return f(b) }
