package groth16

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// panickingBase panics at a call, in G1 or G2, and has an odd idea of its chunk.
type panickingBase struct {
	plainFixedBase
	g1, g2 int
}

func (p *panickingBase) G1(ctx context.Context, k []fr.Element, dst []byte) error {
	if p.g1--; p.g1 == 0 {
		panic("device gone")
	}
	return p.plainFixedBase.G1(ctx, k, dst)
}

func (p *panickingBase) G2(ctx context.Context, k []fr.Element, dst []byte) error {
	if p.g2--; p.g2 == 0 {
		panic("device gone")
	}
	return p.plainFixedBase.G2(ctx, k, dst)
}

// A maker of points that panics ends the setup with an error, wherever it is, and nothing stays.
func TestSetupFixedBasePanics(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{300})
	require.NoError(t, err)
	dir := t.TempDir()
	for _, b := range []*panickingBase{{g1: 1}, {g1: 2}, {g1: 9}, {g2: 1}, {g2: 2}} {
		b.chunk = 100
		_, err := SetupFile(ctx, sys, filepath.Join(dir, "x"), SetupOptions{FixedBase: b})
		require.ErrorIs(t, err, ErrBackend)
		require.ErrorContains(t, err, "device gone")
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	var want, got bytes.Buffer
	o := SetupOptions{Trapdoor: DevTrapdoor("chunks")}
	_, err = SetupTo(ctx, sys, &want, o)
	require.NoError(t, err)
	for _, chunk := range []int{math.MinInt, -1, 0, math.MaxInt} {
		o.FixedBase = &plainFixedBase{chunk: chunk}
		if chunk <= 0 && testing.Short() {
			continue // one point a call
		}
		got.Reset()
		_, err = SetupTo(ctx, sys, &got, o)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	}
}

// Several makers of one key at the same time, some given up: whoever ends has a whole key, and the file is whole at any time.
func TestSetupFileByMany(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{2000})
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.params")
	o := SetupOptions{Trapdoor: DevTrapdoor("many")}
	first, err := SetupFile(ctx, sys, path, o)
	require.NoError(t, err)
	vk := first.VerifyingKey()
	require.NoError(t, first.Close())
	var makers, readers sync.WaitGroup
	stop := make(chan struct{})
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			k, err := OpenProvingKey(path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := k.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 4 {
		makers.Go(func() {
			cctx, cancel := context.WithCancel(ctx)
			defer cancel()
			with := o
			if i == 0 {
				with.Progress = func(int, int) { cancel() }
			}
			k, err := SetupFile(cctx, sys, path, with)
			if i == 0 {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if !k.VerifyingKey().Equal(vk) {
				t.Error("another key")
			}
			if err := errors.Join(k.CheckPoints(ctx, true, 1), k.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	makers.Wait()
	close(stop)
	readers.Wait()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// What lies where a key or its copy should be does not matter to proofs: a directory, a link, a place that cannot be written.
func TestOddThingsInPlaceOfKeys(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{50})
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.params")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "sub"), 0o755))
	_, err = SetupFile(ctx, sys, path, SetupOptions{})
	require.Error(t, err, "a directory that is not empty stays")
	_, err = OpenProvingKey(path)
	require.Error(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "no unfinished file")
	require.NoError(t, os.RemoveAll(path))

	precious := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(precious, path))
	k, err := SetupFile(ctx, sys, path, SetupOptions{})
	require.NoError(t, err, "a link is replaced, not followed")
	b, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "mine", string(b))

	id, err := k.Identity()
	require.NoError(t, err)
	cache := filepath.Join(dir, "cache")
	for name, lay := range map[string]func() error{
		"no directory":        func() error { return nil },
		"a file":              func() error { return os.WriteFile(cache, nil, 0o600) },
		"a directory as copy": func() error { return os.MkdirAll(filepath.Join(k.cachePath(cache, id), "sub"), 0o755) },
		"a loop of links": func() error {
			return errors.Join(os.Mkdir(cache, 0o755), os.Symlink(k.cachePath(cache, id), k.cachePath(cache, id)))
		},
		"a link to nothing": func() error {
			return errors.Join(os.Mkdir(cache, 0o755), os.Symlink("nowhere", k.cachePath(cache, id)))
		},
		"a link to other bytes": func() error { return errors.Join(os.Mkdir(cache, 0o755), os.Symlink(precious, k.cachePath(cache, id))) },
		"read only":             func() error { return os.Mkdir(cache, 0o555) },
	} {
		require.NoError(t, lay(), name)
		for range 2 {
			n, err := k.acquireNative(ctx, KeyConfig{CacheDir: cache}, 1)
			require.NoError(t, err, name)
			require.NoError(t, k.releaseNative())
			require.NotNil(t, n)
		}
		if es, err := os.ReadDir(cache); err == nil {
			for _, e := range es {
				require.NotContains(t, e.Name(), ".tmp-", name)
			}
		}
		require.NoError(t, os.RemoveAll(cache))
	}
	b, err = os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "mine", string(b))
	require.NoError(t, k.Close())
}
