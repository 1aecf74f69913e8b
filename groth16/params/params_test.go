package params

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/internal/atomicfile"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/post"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
	"io"
)

func TestDeployedIDs(t *testing.T) {
	require.Len(t, manifest, 22)
	seen := map[string]bool{}
	for _, d := range manifest {
		c, err := For(d.kind, d.size)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(c.CacheID(), "-"+d.id), "%v: %s", c, c.CacheID())
		require.Len(t, d.params, 32)
		require.Len(t, d.vk, 32)
		require.False(t, seen[c.ParamsFile()])
		seen[c.ParamsFile()] = true
		dim, ok := c.Dimensions()
		require.True(t, ok)
		want := int64(868+96*dim.Inputs) + 5*4 + 96*int64(dim.H+dim.Aux+dim.A+dim.B) + 192*int64(dim.B)
		require.Equal(t, want, dim.ParamsBytes, "%v", c)
	}
	require.Len(t, Deployed(), 22)
	c, err := For(PoRep, vanilla.Size32GiB)
	require.NoError(t, err)
	require.Equal(t, "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820.params", c.ParamsFile())
	_, err = For(PoRep, 3000)
	require.Error(t, err)
	_, err = For(99, vanilla.Size2KiB)
	require.Error(t, err)
}

// devFiles makes a directory with the window-2k development key.
func devFiles(t *testing.T) (string, Circuit) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := For(Window, vanilla.Size2KiB)
	require.NoError(t, err)
	sh, err := post.WindowShape(vanilla.Size2KiB)
	require.NoError(t, err)
	sys, err := synth.Compile(ctx, &post.Circuit{Shape: sh})
	require.NoError(t, err)
	k, err := groth16.SetupFile(ctx, sys, filepath.Join(dir, c.ParamsFile()), groth16.SetupOptions{Trapdoor: groth16.DevTrapdoor("golden/" + c.CacheID())})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, c.VKFile()), k.VerifyingKey().Bytes(), 0o600))
	require.NoError(t, k.Close())
	return dir, c
}

func TestOpenAndPreflight(t *testing.T) {
	ctx := context.Background()
	dir, c := devFiles(t)
	k, err := Open(dir, c)
	require.NoError(t, err)
	vk, err := OpenVerifyingKey(dir, c)
	require.NoError(t, err)
	require.True(t, vk.Equal(k.VerifyingKey()))
	require.NoError(t, k.Close())
	require.NoError(t, Preflight(ctx, dir, []Circuit{c}, PreflightConfig{}))

	// every missing and damaged file is named, in one error
	winning, err := For(Winning, vanilla.Size2KiB)
	require.NoError(t, err)
	err = Preflight(ctx, dir, []Circuit{c, winning}, PreflightConfig{Digests: true})
	require.ErrorIs(t, err, ErrKeyNotFound)
	require.ErrorIs(t, err, ErrMismatch, "a development key does not have the deployed digest")
	for _, f := range []string{c.ParamsFile(), c.VKFile(), winning.ParamsFile(), winning.VKFile()} {
		require.ErrorContains(t, err, f)
	}
	var fe *FileError
	require.ErrorAs(t, err, &fe)

	// the key of one circuit under the name of another
	raw, err := os.ReadFile(filepath.Join(dir, c.ParamsFile()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, winning.ParamsFile()), raw, 0o600))
	_, err = Open(dir, winning)
	require.ErrorIs(t, err, ErrMismatch)
	_, err = OpenVerifyingKey(dir, winning)
	require.ErrorIs(t, err, ErrMismatch)

	// a .vk of another setup beside the .params
	other := bytes.Clone(raw[:868+96*23])
	v, err := groth16.ParseVerifyingKey(other)
	require.NoError(t, err)
	v.AlphaG1.Neg(&v.AlphaG1)
	require.NoError(t, atomicfile.Write(filepath.Join(dir, c.VKFile()), 0o600, func(w io.Writer) error { _, err := v.WriteTo(w); return err }))
	_, err = Open(dir, c)
	require.ErrorIs(t, err, ErrMismatch)

	// without a .vk the key at the head of .params serves
	require.NoError(t, os.Remove(filepath.Join(dir, c.VKFile())))
	vk2, err := OpenVerifyingKey(dir, c)
	require.NoError(t, err)
	require.True(t, vk.Equal(vk2))

	// truncated
	require.NoError(t, os.WriteFile(filepath.Join(dir, c.ParamsFile()), raw[:len(raw)-1], 0o600))
	_, err = Open(dir, c)
	require.ErrorIs(t, err, groth16.ErrKey)
	require.ErrorContains(t, err, c.ParamsFile())

	cctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err = FileDigest(cctx, filepath.Join(dir, c.ParamsFile()))
	require.True(t, errors.Is(err, context.Canceled))
}
