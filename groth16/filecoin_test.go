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

// The development keys of the small PoSt circuits are those that the Rust stack made from the same trapdoors; written,
// read back and written again they stay the same.
func TestPoStKeysEqualReference(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		kind   params.Kind
		digest string
	}{
		{params.Window, "b7c3a9620bffa89e497c54ccecac6859087061df5fbde9cf12303c04f01885655425e06d9e04f510064bae1d74fe6017668ad26cee529a49da837e05d1c5ef61"},
		{params.Winning, "95584353afd8c1eb41c578d8521eb2420b9acc252042ed41bc61cc9b76504d06df7fff18e63b16ecaced02c4d489aa8e41b8534d758d4b31d6f694518764fdca"},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			settled(t)
			cfg, err := post.SizeConfig(vanilla.Size2KiB, c.kind == params.Winning, vanilla.V1_2_0)
			require.NoError(t, err)

			sys, err := synth.Compile(ctx, &post.Circuit{Shape: cfg.Shape})
			require.NoError(t, err)
			id, err := params.For(c.kind, vanilla.Size2KiB)
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
			require.Equal(t, c.digest, hex.EncodeToString(d[:]))
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
		})
	}
}
