package groth16

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

type bitsAndFields struct{}

func (bitsAndFields) Synthesize(b *synth.Builder) error {
	for i := 0; i < 300; i++ {
		x := b.AllocBit(i%3 == 0)
		y := b.Alloc(fr.NewElement(uint64(i)))
		b.Enforce(b.LC().AddVar(x), b.LC().AddVar(y), b.LC().AddVar(y).SubVar(y))
	}
	return nil
}

// However far packing came when its context ended, nothing stays allocated.
func TestGatherGivesBackWhenCancelled(t *testing.T) {
	ctx := context.Background()
	sys, err := synth.Compile(ctx, bitsAndFields{})
	require.NoError(t, err)
	a, err := synth.AssignWitness(ctx, bitsAndFields{}, sys, synth.AssignConfig{})
	require.NoError(t, err)
	defer a.Close()
	g, err := newGather(sys, upTo(sys.Inputs()), sys.ADensity())
	require.NoError(t, err)
	defer func() { require.NoError(t, g.close()) }()
	before := pinning.Live()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, _, err = g.scalars(ended, a, 1)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, pinning.Live())
	_, free, err := g.scalars(ctx, a, 1)
	require.NoError(t, err)
	require.NoError(t, free())
	require.Equal(t, before, pinning.Live())
}
