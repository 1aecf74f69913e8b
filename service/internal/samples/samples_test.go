package samples

import (
	"context"
	"testing"

	"github.com/filgroth/filgroth/synth/porep"
	"github.com/stretchr/testify/require"
)

func TestSamples(t *testing.T) {
	ctx := context.Background()
	for _, kind := range Kinds {
		g, err := Golden(kind)
		require.NoError(t, err)
		require.Equal(t, uint64(2048), g.Request.SectorSize)
		require.Equal(t, uint64(Miner), g.Request.MinerId)
		a, err := Simulated(ctx, kind, "2k", 1)
		require.NoError(t, err, kind)
		b, err := Simulated(ctx, kind, "2k", 2)
		require.NoError(t, err)
		again, err := Simulated(ctx, kind, "2k", 1)
		require.NoError(t, err)
		require.Equal(t, a.Request.String(), again.Request.String())
		require.NotEqual(t, a.Request.String(), b.Request.String())
		if kind == "porep" {
			for _, s := range []*Sample{g, a} {
				c, err := porep.DecodeC1(s.Request.VanillaProof)
				require.NoError(t, err)
				require.NoError(t, porep.Check(ctx, c))
				require.NoError(t, porep.CheckReplicaID(c, Miner, s.Request.SectorNumber))
			}
		}
	}
	_, err := Golden("x")
	require.Error(t, err)
	_, err = Simulated(ctx, "x", "2k", 1)
	require.Error(t, err)
	_, err = Simulated(ctx, "porep", "3k", 1)
	require.Error(t, err)
}
