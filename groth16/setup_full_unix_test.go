//go:build unix

package groth16

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fileLimit lets no file of the process grow beyond n bytes until the test ends: a disk that is full there.
func fileLimit(t *testing.T, n uint64) {
	signal.Ignore(unix.SIGXFSZ)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &old))
	limit := old
	limit.Cur = n
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	t.Cleanup(func() {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
		signal.Reset(unix.SIGXFSZ)
	})
}

// A disk that fills while a key or its copy is written: the key is an error that says so, the copy costs no proof and makes
// room for the next one; nothing unfinished stays.
func TestFullDisk(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{3000})
	require.NoError(t, err)
	k, err := Setup(ctx, sys, SetupOptions{Trapdoor: DevTrapdoor("full")})
	require.NoError(t, err)
	dir := t.TempDir()
	path, cache := filepath.Join(dir, "x.params"), filepath.Join(dir, "cache")
	require.NoError(t, os.Mkdir(cache, 0o755))
	old := time.Now().Add(-72 * time.Hour)
	for _, name := range []string{"native-a.key", ".native-b.key.tmp-7"} {
		p := filepath.Join(cache, name)
		require.NoError(t, os.WriteFile(p, make([]byte, 1000), 0o600))
		require.NoError(t, os.Chtimes(p, old, old))
	}
	fileLimit(t, uint64(k.Size()/2))
	for _, n := range []int{0, 1} {
		_, err = SetupFile(ctx, sys, path, SetupOptions{Trapdoor: DevTrapdoor("full"), Threads: n})
		require.ErrorIs(t, err, unix.EFBIG)
	}
	n, err := k.acquireNative(ctx, KeyConfig{CacheDir: cache, CacheBytes: 500}, 1)
	require.NoError(t, err)
	require.NotNil(t, n)
	require.NoError(t, k.releaseNative())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	left, err = os.ReadDir(cache)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, k.Close())
}

// A key file that others make shorter while it is mapped costs an error that names it, whoever reads.
func TestFileTruncatedUnderMapping(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	sys, err := synth.Compile(ctx, squares{20000})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "x.params")
	k, err := SetupFile(ctx, sys, path, SetupOptions{Trapdoor: DevTrapdoor("short")})
	require.NoError(t, err)
	size := int64(os.Getpagesize())
	require.NoError(t, os.Truncate(path, k.Size()/8/size*size)) // the rest of a last page would be zeros, which are no points
	gone := func(err error) {
		require.ErrorIs(t, err, ErrTruncated)
		var e *KeyError
		require.ErrorAs(t, err, &e)
		require.Equal(t, path, e.Path)
	}
	gone(k.CheckPoints(ctx, true, 2))
	gone(k.CheckPoints(ctx, false, 1))
	_, err = k.acquireNative(ctx, KeyConfig{}, 2)
	gone(err)
	gone(k.DecodeG2(ctx, SectionB2, 0, make([]bls12381.G2Affine, k.Len(SectionB2)), 1))
	_, err = k.WriteTo(&bytes.Buffer{})
	gone(err)
	_, err = k.Identity()
	gone(err)
	_, err = k.Digest(ctx)
	gone(err)
	require.NoError(t, k.Close())
	_, err = OpenProvingKey(path)
	require.ErrorIs(t, err, ErrKey)
}
