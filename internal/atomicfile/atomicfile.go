// Package atomicfile writes files that are there whole or not at all.
package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Write creates path with what write puts out: into a temporary file in the same directory, synced, then renamed. On any
// error, and where write panics, nothing is left and an old file at path stays as it was.
func Write(path string, perm os.FileMode, write func(w io.Writer) error) error {
	return create(path, perm, func(f *os.File) error {
		bw := bufio.NewWriterSize(f, 1<<20)
		if err := write(bw); err != nil {
			return err
		}
		return bw.Flush()
	})
}

// WriteAt is Write for a file whose parts come in any order, several at a time. What is left out is zero.
func WriteAt(path string, perm os.FileMode, write func(w io.WriterAt) error) error {
	return create(path, perm, func(f *os.File) error { return write(f) })
}

// errDirectory: there is a directory where a file should be.
var errDirectory = errors.New("is a directory")

func create(path string, perm os.FileMode, write func(f *os.File) error) error {
	if st, err := os.Lstat(path); err == nil && st.IsDir() { // the rename would say so, after all the work
		return &fs.PathError{Op: "create", Path: path, Err: errDirectory}
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			pe.Path = path // the name that the caller knows
		}
		return err
	}
	lock(f) // against Sweep, where a clock jumps or this process is stopped for days
	done := false
	defer func() {
		if !done { // only where write panicked
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	err = fill(f, perm, write)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	done = true
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// fill writes, syncs and closes f.
func fill(f *os.File, perm os.FileMode, write func(f *os.File) error) error {
	err := write(f)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Sweep removes the temporary files of killed processes in dir: of files whose names match the pattern names, not written to
// for so long, and in no process's hands where the system tells. It gives their number. A directory that is not there has none.
func Sweep(dir, names string, older time.Duration) (n int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, e := range entries {
		ok, err := filepath.Match("."+names+".tmp-*", e.Name())
		if err != nil {
			return n, err
		}
		st, err := e.Info()
		if !ok || err != nil || !st.Mode().IsRegular() || time.Since(st.ModTime()) < older {
			continue
		}
		switch removed, err := removeUnused(filepath.Join(dir, e.Name())); {
		case removed:
			n++
		case err != nil && !errors.Is(err, os.ErrNotExist): // somebody else sweeps too
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

// removeUnused removes a file that nobody writes.
func removeUnused(path string) (removed bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if !lock(f) {
		return false, nil
	}
	err = os.Remove(path)
	return err == nil, err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // not every file system can sync a directory
	return nil
}
