// Package atomicfile writes files that are there whole or not at all.
package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write creates path with what write puts out: into a temporary file in the same directory, synced, then renamed. On any
// error, and where write panics, nothing is left and an old file at path stays as it was.
func Write(path string, perm os.FileMode, write func(w io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
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
func fill(f *os.File, perm os.FileMode, write func(w io.Writer) error) error {
	bw := bufio.NewWriterSize(f, 1<<20)
	err := write(bw)
	if err == nil {
		err = bw.Flush()
	}
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
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
