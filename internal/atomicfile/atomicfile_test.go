package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func put(b []byte) func(io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// only says that the directory holds nothing but the named files: no temporary ones.
func only(t *testing.T, dir string, names ...string) {
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range all {
		got = append(got, e.Name())
	}
	require.Equal(t, names, got)
}

func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	old, large := []byte("old"), bytes.Repeat([]byte("x"), 3<<20)
	require.NoError(t, Write(path, 0o640, put(old)))
	is := func(want []byte) {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
		only(t, dir, "f")
	}
	is(old)
	boom := errors.New("boom")
	for _, before := range [][]byte{nil, old, large} {
		err := Write(path, 0o640, func(w io.Writer) error {
			_, werr := w.Write(before)
			return errors.Join(werr, boom)
		})
		require.ErrorIs(t, err, boom)
		is(old)
	}
	require.Panics(t, func() { _ = Write(path, 0o640, func(w io.Writer) error { _, _ = w.Write(large); panic("kaboom") }) })
	is(old)
	require.NoError(t, Write(path, 0o600, put(large)))
	is(large)
	if runtime.GOOS != "windows" {
		st, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), st.Mode())
	}
	require.NoError(t, Write(path, 0o640, put(nil)))
	is(nil)
}

func TestPathsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, Write(filepath.Join(dir, "none", "f"), 0o600, put(nil)), os.ErrNotExist)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d", "x"), nil, 0o600))
	require.Error(t, Write(filepath.Join(dir, "d"), 0o600, put([]byte("x"))))
	only(t, dir, "d")
}

// Writers of one path at the same time leave one of their files.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := Write(path, 0o600, put(bytes.Repeat([]byte{byte(i)}, 1<<16))); err != nil {
				panic(err)
			}
		}()
	}
	wg.Wait()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(bytes.Repeat(got[:1], 1<<16), got))
	only(t, dir, "f")
}

// A directory in the file's place is an error before anything is written.
func TestDirectoryInPlace(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "f"), 0o700))
	err := Write(filepath.Join(dir, "f"), 0o600, func(io.Writer) error { t.Error("written"); return nil })
	require.ErrorIs(t, err, errDirectory)
	only(t, dir, "f")
}

func TestWriteAt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, WriteAt(path, 0o640, func(w io.WriterAt) error {
		for _, i := range []int64{2, 0} {
			if _, err := w.WriteAt([]byte{byte('a' + i)}, i); err != nil {
				return err
			}
		}
		return nil
	}))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a\x00c", string(got))
	boom := errors.New("boom")
	require.ErrorIs(t, WriteAt(path, 0o640, func(w io.WriterAt) error {
		_, err := w.WriteAt([]byte("xyz"), 0)
		return errors.Join(err, boom)
	}), boom)
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a\x00c", string(got))
	only(t, dir, "f")
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	n, err := Sweep(filepath.Join(dir, "none"), "*", 0)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = Sweep(dir, "[", 0)
	require.NoError(t, err, "nothing there to match")
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{".f.tmp-1", ".g.tmp-2", "f", "x.tmp-3", ".h", ".other.tmp-5"} {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, nil, 0o600))
		if name != ".g.tmp-2" {
			require.NoError(t, os.Chtimes(p, old, old))
		}
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".d.tmp-4"), 0o700))
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".d.tmp-4"), old, old))
	n, err = Sweep(dir, "?", 24*time.Hour)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	only(t, dir, ".d.tmp-4", ".g.tmp-2", ".h", ".other.tmp-5", "f", "x.tmp-3")
	_, err = Sweep(dir, "[", 0)
	require.ErrorIs(t, err, filepath.ErrBadPattern)
}

// A file that a process writes is not swept, however old it looks: its clock may have jumped, or it was stopped for days.
func TestSweepSparesWriters(t *testing.T) {
	switch runtime.GOOS {
	case "darwin", "dragonfly", "freebsd", "linux", "netbsd", "openbsd":
	default:
		t.Skip("no file locks here: age alone decides")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, boom := range []error{nil, errors.New("boom")} {
		err := WriteAt(path, 0o600, func(w io.WriterAt) error {
			_, err := w.WriteAt([]byte("whole"), 0)
			require.NoError(t, err)
			all, err := filepath.Glob(filepath.Join(dir, ".f.tmp-*"))
			require.NoError(t, err)
			require.Len(t, all, 1)
			require.NoError(t, os.Chtimes(all[0], time.Unix(1, 0), time.Unix(1, 0)))
			n, err := Sweep(dir, "*", time.Hour)
			require.NoError(t, err)
			require.Zero(t, n)
			return boom
		})
		require.ErrorIs(t, err, boom)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "whole", string(got))
	}
	only(t, dir, "f")
	// what is left of one that is dead goes
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".f.tmp-9"), nil, 0o600))
	n, err := Sweep(dir, "*", -1)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	only(t, dir, "f")
}
