package filgroth

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/groth16/aggregate"
	"github.com/filgroth/filgroth/groth16/params"
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
				require.ErrorContains(t, e.Preflight(ctx, []Kind{PoRep}, []vanilla.SectorSize{vanilla.Size2KiB}, false), path, kind)
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

// Preflight looks at a reference string that is there, and wants none where there is none.
func TestPreflightReferenceString(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	e, err := New(Config{Parameters: dir})
	require.NoError(t, err)
	defer e.Close()
	path := filepath.Join(dir, SRSFile)
	check := func(digests bool) string {
		return e.Preflight(ctx, []Kind{PoRep, WinningPoSt}, []vanilla.SectorSize{vanilla.Size2KiB}, digests).Error() // there are no keys
	}
	require.NotContains(t, check(true), SRSFile)
	dev := groth16.DevTrapdoor("srs")
	srs, err := aggregate.SetupInsecure(4, dev.Alpha, dev.Beta)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = srs.WriteTo(&b)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	require.NotContains(t, check(false), SRSFile)
	require.Contains(t, check(true), path+": params: parameter file is not what its name says: digest (expected "+srsDigest)
	require.NoError(t, os.WriteFile(path, b.Bytes()[:b.Len()-1], 0o600))
	require.Contains(t, check(false), path)
	require.NotContains(t, e.Preflight(ctx, []Kind{WinningPoSt}, []vanilla.SectorSize{vanilla.Size2KiB}, false).Error(), SRSFile)
}

// A cached development key that is not what its name says, however it came there, is made anew: parameters and verifying key.
func TestDamagedDevelopmentKeyIsMadeAnew(t *testing.T) {
	ctx := context.Background()
	w := newSimWindow(t, 1)
	id, err := circuitSpec{WindowPoSt, vanilla.Size2KiB}.params()
	require.NoError(t, err)
	warm := developer(t, nil)
	_, _, err = w.prove(ctx, warm, 1, 1)
	require.NoError(t, err)
	require.NoError(t, warm.Close())
	shared, err := devCache()
	require.NoError(t, err)
	good, err := os.ReadFile(filepath.Join(shared, "dev", id.ParamsFile()))
	require.NoError(t, err)
	goodVK, err := os.ReadFile(filepath.Join(shared, "dev", id.VKFile()))
	require.NoError(t, err)
	other := bytes.Clone(good)
	copy(other[576:672], good[:96]) // delta_g1 is alpha_g1: a point of the group, of another trapdoor
	for name, bad := range map[string]struct{ params, vk []byte }{
		"cut": {good[:len(good)-1], goodVK}, "another key": {other, goodVK}, "another verifying key": {nil, other[:len(goodVK)]}, "no key": {[]byte("x"), []byte("y")},
	} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "dev"), 0o700))
		if bad.params == nil {
			bad.params = good
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dev", id.ParamsFile()), bad.params, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dev", id.VKFile()), bad.vk, 0o600))
		e := developer(t, func(c *Config) { c.CacheDir = dir })
		proof, _, err := w.prove(ctx, e, 1, 1)
		require.NoError(t, err, name)
		ok, err := e.VerifyWindowPoSt(ctx, w.randomness, *proof, w.sectors)
		require.NoError(t, err, name)
		require.True(t, ok, name)
		require.NoError(t, e.Close())
		now, err := os.ReadFile(filepath.Join(dir, "dev", id.ParamsFile()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(good, now), name)
	}
}

// A key from a published trapdoor in a parameter directory is refused: only Config.DevelopmentKeys allows forgeable proofs.
func TestDevelopmentKeyAmongParametersIsRefused(t *testing.T) {
	ctx := context.Background()
	e, err := New(Config{Parameters: "testdata"})
	require.NoError(t, err)
	defer e.Close()
	m := golden[sealMeta](t, "2k-v1_1-s1.meta.json")
	_, err = e.VerifySeal(ctx, m.info(t))
	require.ErrorIs(t, err, ErrDevelopmentKey)
	require.ErrorContains(t, err, "porep-2KiB")

	// a whole key under the name of a deployed one
	dev := developer(t, nil)
	defer dev.Close()
	_, _, err = windowJob(t)(ctx, dev)
	require.NoError(t, err)
	e2, err := New(Config{Parameters: dev.devDir()})
	require.NoError(t, err)
	defer e2.Close()
	_, _, err = windowJob(t)(ctx, e2)
	require.ErrorIs(t, err, ErrDevelopmentKey)
}

// Without a reference string a non-interactive sector, which ends in an aggregate, is refused before its proofs are made.
func TestNonInteractiveNeedsItsReferenceString(t *testing.T) {
	m := golden[sealMeta](t, "2k-ni-s1.meta.json")
	c1 := readGolden(t, "2k-ni-s1.c1.json.gz")
	dir := t.TempDir()
	var log bytes.Buffer
	e, err := New(Config{Parameters: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer e.Close()
	_, rep, err := e.SealCommitPhase2(context.Background(), c1, m.Sector, testMiner)
	require.ErrorIs(t, err, params.ErrKeyNotFound)
	require.ErrorContains(t, err, filepath.Join(dir, SRSFile))
	require.Nil(t, rep)
	require.Zero(t, e.Status().Keys.Loads)
	require.Empty(t, log.String())
}
