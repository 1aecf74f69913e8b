package groth16_test

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/params"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// The development key of a small PoSt circuit is the one that the Rust stack made from the same trapdoor; written, read
// back and written again it stays the same. The larger keys are in the long tests.
func TestWindowKeyEqualsReference(t *testing.T) {
	postKeyEqualsReference(t, params.Window, "b7c3a9620bffa89e497c54ccecac6859087061df5fbde9cf12303c04f01885655425e06d9e04f510064bae1d74fe6017668ad26cee529a49da837e05d1c5ef61")
}

func postKeyEqualsReference(t *testing.T, kind params.Kind, digest string) {
	ctx := context.Background()
	settled(t)
	cfg, err := post.SizeConfig(vanilla.Size2KiB, kind == params.Winning, vanilla.V1_2_0)
	require.NoError(t, err)

	sys, err := synth.Compile(ctx, &post.Circuit{Shape: cfg.Shape})
	require.NoError(t, err)
	id, err := params.For(kind, vanilla.Size2KiB)
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, id.ParamsFile())
	last, calls := 0, 0
	k, err := groth16.SetupFile(ctx, sys, path, groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor(id.DevelopmentTag()),
		Progress: func(done, total int) {
			require.Greater(t, done, last)
			last = done
			calls++
			require.LessOrEqual(t, done, total)
		}})
	require.NoError(t, err)
	require.Positive(t, calls)
	d, err := k.Digest(ctx)
	require.NoError(t, err)
	require.Equal(t, digest, hex.EncodeToString(d[:]))
	again := filepath.Join(dir, "again")
	require.NoError(t, k.WriteFile(ctx, again))
	require.NoError(t, k.Close())
	k2, err := groth16.OpenProvingKey(again)
	require.NoError(t, err)
	d2, err := k2.Digest(ctx)
	require.NoError(t, err)
	require.Equal(t, d, d2)
	require.NoError(t, k2.CheckSystem(ctx, sys))
	require.NoError(t, k2.CheckPoints(ctx, false, 0))
	require.NoError(t, k2.Close())
	st, err := os.Stat(path)
	require.NoError(t, err)
	dim, ok := id.Dimensions()
	require.True(t, ok)
	require.Equal(t, dim.ParamsBytes, st.Size())
}
