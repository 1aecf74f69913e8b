package groth16

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Copies beyond the bound go, the one not opened for longest first, and so does what killed processes left; other files stay.
func TestNativeCopiesArePruned(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	dir := t.TempDir()
	names := func() (out []string) {
		all, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range all {
			out = append(out, e.Name())
		}
		return out
	}
	old := time.Now().Add(-72 * time.Hour)
	put := func(name string, size int, at time.Time) {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, make([]byte, size), 0o600))
		require.NoError(t, os.Chtimes(p, at, at))
	}
	put("native-a.key", 4000, old)
	put("native-b.key", 4000, old.Add(time.Hour))
	put("note", 1<<20, old)
	put(".native-c.key.tmp-1", 10, old)
	put(".native-d.key.tmp-2", 10, time.Now())
	k, err := ParseProvingKey(goldenFile(t, "cubic.params"))
	require.NoError(t, err)
	id, err := k.Identity()
	require.NoError(t, err)
	own := filepath.Base(k.cachePath(dir, id))
	load := func(bound int64) {
		n, err := k.loadNative(ctx, KeyConfig{CacheDir: dir, CacheBytes: bound}, 1)
		require.NoError(t, err)
		require.NoError(t, n.close())
	}
	load(0)
	require.ElementsMatch(t, []string{"native-a.key", "native-b.key", "note", ".native-d.key.tmp-2", own}, names())
	st, err := os.Stat(filepath.Join(dir, own))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, own)))
	load(st.Size() + 4000)
	require.ElementsMatch(t, []string{"native-b.key", "note", ".native-d.key.tmp-2", own}, names())
	require.NoError(t, os.Remove(filepath.Join(dir, own)))
	load(1)
	require.ElementsMatch(t, []string{"note", ".native-d.key.tmp-2", own}, names(), "the newest stays whatever its size")

	// one that is opened is the last to go
	require.NoError(t, os.Chtimes(filepath.Join(dir, own), old, old))
	load(1)
	put("native-a.key", 10, time.Now().Add(-time.Hour))
	put("native-b.key", 10, time.Now())
	require.NoError(t, pruneCache(dir, "native-b.key", st.Size()+15))
	require.ElementsMatch(t, []string{"note", ".native-d.key.tmp-2", own, "native-b.key"}, names())
	require.NoError(t, pruneCache(dir, "native-b.key", -1))
	require.NoError(t, k.Close())
}
