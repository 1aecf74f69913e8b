//go:build unix

package regfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	require.NoError(t, os.WriteFile(file, []byte("12345"), 0o600))
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file, link))
	for _, p := range []string{file, link} {
		b, err := ReadAll(p, 5)
		require.NoError(t, err)
		require.Equal(t, "12345", string(b))
		_, err = ReadAll(p, 4)
		require.ErrorIs(t, err, ErrTooLarge)
		require.ErrorContains(t, err, p)
	}
	for _, p := range []string{dir, pipe, os.DevNull} {
		_, err := Open(p)
		require.ErrorIs(t, err, ErrNotRegular)
		_, err = ReadAll(p, 1<<20)
		require.ErrorIs(t, err, ErrNotRegular)
		require.ErrorContains(t, err, p)
	}
	_, err := Open(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
