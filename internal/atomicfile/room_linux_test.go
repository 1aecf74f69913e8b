package atomicfile

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestCheckRoom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, CheckRoom(path, 1))
	require.NoError(t, CheckRoom(path, 0))
	require.NoError(t, CheckRoom(path, -1))
	err := CheckRoom(path, math.MaxInt64)
	require.ErrorIs(t, err, unix.ENOSPC)
	require.ErrorContains(t, err, path)
	require.NoError(t, CheckRoom(filepath.Join(path, "none", "f"), math.MaxInt64), "who creates it will hear of it")
	require.NoError(t, CheckRoom("/proc/x", math.MaxInt64), "it has no blocks to count")
}
