package pinning

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCgroupLimit(t *testing.T) {
	root := t.TempDir()
	self := filepath.Join(root, "self")
	put := func(p, s string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, p)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, p), []byte(s), 0o600))
	}
	require.Zero(t, cgroupLimit(root, self))
	put("memory.max", "max\n")
	require.Zero(t, cgroupLimit(root, self))
	put("self", "0::/a/b\n")
	put("a/b/memory.max", "max\n")
	put("a/memory.max", "4096000\n")
	require.Equal(t, int64(4096000), cgroupLimit(root, self))
	put("a/b/memory.max", "1000\n")
	require.Equal(t, int64(1000), cgroupLimit(root, self))
	put("self", "5:cpu,memory:/x\n1:name=systemd:/\n")
	put("memory/x/memory.limit_in_bytes", "9223372036854771712\n")
	require.Zero(t, cgroupLimit(root, self))
	put("memory/memory.limit_in_bytes", "777\n")
	require.Equal(t, int64(777), cgroupLimit(root, self))
}

func TestSystemFacts(t *testing.T) {
	require.Greater(t, SystemMemory(), int64(64<<20))
	require.GreaterOrEqual(t, LockLimit(), int64(-1))
	u := ReadUsage()
	require.Greater(t, u.PeakRSS, int64(1<<20))
	require.Greater(t, u.MinorFaults, int64(0))
}
