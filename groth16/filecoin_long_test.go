//go:build long

package groth16_test

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/porep"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// The development key of the 2 KiB PoRep is the one that the Rust stack made from the same trapdoor.
func TestPoRepKeyEqualsReference(t *testing.T) {
	ctx := context.Background()
	cfg, err := porep.SizeConfig(vanilla.Size2KiB, vanilla.Interactive, vanilla.V1_1_0)
	require.NoError(t, err)
	start := time.Now()
	sys, err := synth.Compile(ctx, &porep.Circuit{Shape: cfg.Shape})
	require.NoError(t, err)
	t.Logf("compiled in %v: %v", time.Since(start), sys)
	start = time.Now()
	tag := "golden/stacked-proof-of-replication-merkletree-poseidon_hasher-8-0-0-sha256_hasher-032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"
	k, err := groth16.Setup(ctx, sys, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor(tag)})
	require.NoError(t, err)
	defer k.Close()
	t.Logf("key made in %v", time.Since(start))
	require.EqualValues(t, 1114707768, k.Size())
	d, err := k.Digest(ctx)
	require.NoError(t, err)
	require.Equal(t, "87446b1a0ba769d5ad03b1b37d57f6ea95d31eab5f481842585c5c9c4295fdef8b0c1d791d5fbbcbf4b5466c5045202ab176310ede9ffd256c78df24fd8314e3", hex.EncodeToString(d[:]))
}
