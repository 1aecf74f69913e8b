package filgroth

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// Damaged files in a parameter directory are errors that name the file, whatever is there in its place.
func TestOddFiles(t *testing.T) {
	ctx := context.Background()
	w := newSimWindow(t, 1)
	id, err := circuitSpec{WindowPoSt, vanilla.Size2KiB}.params()
	require.NoError(t, err)
	shared, err := devCache()
	require.NoError(t, err)
	warm := developer(t, nil)
	_, _, err = w.prove(ctx, warm, 1, 1)
	require.NoError(t, err)
	require.NoError(t, warm.Close())
	good, err := os.ReadFile(filepath.Join(shared, "dev", id.ParamsFile()))
	require.NoError(t, err)
	vk, err := os.ReadFile(filepath.Join(shared, "dev", id.VKFile()))
	require.NoError(t, err)
	for name, damage := range map[string][]byte{"empty": {}, "cut": good[:len(good)/2], "longer": append(bytes.Clone(good), 0), "noise": bytes.Repeat([]byte{0xa5}, 1<<16)} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, id.ParamsFile()), damage, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, id.VKFile()), vk, 0o600))
		e, err := New(Config{Parameters: dir})
		require.NoError(t, err)
		_, _, err = w.prove(ctx, e, 1, 1)
		require.ErrorIs(t, err, groth16.ErrKey, name)
		require.ErrorContains(t, err, dir)
		require.NoError(t, e.Close())
	}
	for _, name := range []string{id.ParamsFile(), id.VKFile(), SRSFile} {
		for kind, put := range oddFiles {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, id.ParamsFile()), good, 0o600))
			path := filepath.Join(dir, name)
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, put(path))
			e, err := New(Config{Parameters: dir})
			require.NoError(t, err)
			if name == SRSFile {
				_, err = e.reference(ctx, 2)
			} else {
				_, _, err = w.prove(ctx, e, 1, 1)
			}
			require.ErrorContains(t, err, path, kind)
			if name != SRSFile {
				require.Error(t, e.Preflight(ctx, []Kind{WindowPoSt}, []vanilla.SectorSize{vanilla.Size2KiB}, true), kind)
			}
			require.NoError(t, e.Close())
		}
	}
}
