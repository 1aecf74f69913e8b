// Package regfile opens regular files for reading: a directory, a pipe or a device in a file's place is an error at once,
// where a plain open of a pipe without a writer would wait for ever.
package regfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular: there is something, but not a regular file.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge: a file is larger than the reader of it allows.
var ErrTooLarge = errors.New("file too large")

// Open opens path for reading. Errors are *fs.PathError.
func Open(path string) (*os.File, error) {
	st, err := os.Stat(path) // before opening, which may block
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() { // exchanged meanwhile
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadAll reads a file of at most limit bytes.
func ReadAll(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: over %d bytes", ErrTooLarge, limit)}
	}
	return b, nil
}
