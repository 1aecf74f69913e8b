package main

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/groth16test"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// TestKnownSums compares with the definition, row by row.
func TestKnownSums(t *testing.T) {
	ctx := context.Background()
	c := shapes.Mix{Pieces: 1, Seed: 3}
	sys, err := synth.Compile(ctx, c)
	require.NoError(t, err)
	a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{})
	require.NoError(t, err)
	defer a.Close()
	trapdoor := groth16.DevTrapdoor("known sums")
	want, err := groth16test.Expected(ctx, sys, a, trapdoor)
	require.NoError(t, err)
	got, err := knownSums(ctx, sys, a, trapdoor)
	require.NoError(t, err)
	require.True(t, got.H.Equal(&want.H))
	require.True(t, got.L.Equal(&want.L))
	require.True(t, got.A.Equal(&want.A))
	require.True(t, got.B1.Equal(&want.B1))
	require.True(t, got.B2.Equal(&want.B2))
}
