package vanillasim

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/update"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// satisfied compiles the blank circuit, assigns the simulated one, and compares the public inputs.
func satisfied(t *testing.T, blank, c synth.Circuit, public []fr.Element) {
	t.Helper()
	s, err := synth.Compile(ctx, blank)
	require.NoError(t, err)
	a, err := synth.AssignWitness(ctx, c, s, synth.AssignConfig{})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.Close()) }()
	require.NoError(t, s.Satisfied(ctx, a, 0))
	require.Equal(t, public, a.Public())
}

// What the native checks accept, the circuits must be satisfied by.
func TestCircuitsAreSatisfied(t *testing.T) {
	t.Run("porep", func(t *testing.T) {
		cfg, err := porep.SizeConfig(vanilla.Size32KiB, vanilla.Interactive, vanilla.V1_1_0)
		require.NoError(t, err)
		cfg.Challenges = 1
		sim, err := PoRep(ctx, cfg, Options{Seed: 1})
		require.NoError(t, err)
		require.NoError(t, porep.Check(ctx, sim))
		c, err := sim.Circuit(0)
		require.NoError(t, err)
		public, err := sim.Public().Inputs(0)
		require.NoError(t, err)
		satisfied(t, &porep.Circuit{Shape: cfg.Shape}, c, public)
	})
	for _, size := range []vanilla.SectorSize{vanilla.Size16KiB, vanilla.Size32KiB} {
		for _, winning := range []bool{false, true} {
			name := map[bool]string{false: "window ", true: "winning "}[winning]
			t.Run(name+size.String(), func(t *testing.T) {
				cfg, err := post.SizeConfig(size, winning, vanilla.V1_2_0)
				require.NoError(t, err)
				pub, proofs, err := PoSt(ctx, cfg, 1, Options{Seed: 2})
				require.NoError(t, err)
				parts, err := post.Assemble(pub, proofs)
				require.NoError(t, err)
				c, err := parts[0].Circuit()
				require.NoError(t, err)
				public, err := pub.Inputs(0)
				require.NoError(t, err)
				satisfied(t, &post.Circuit{Shape: cfg.Shape}, c, public)
			})
		}
	}
	t.Run("update", func(t *testing.T) {
		shape, err := update.ShapeOf(vanilla.Size1KiB)
		require.NoError(t, err)
		pub, proofs, err := Update(ctx, shape, Options{Seed: 4})
		require.NoError(t, err)
		c, err := proofs[0].Circuit(pub, 0)
		require.NoError(t, err)
		public, err := pub.Inputs(0)
		require.NoError(t, err)
		satisfied(t, &update.Circuit{Shape: shape}, c, public)
	})
}
