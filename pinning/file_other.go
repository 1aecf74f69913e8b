//go:build !unix

package pinning

import (
	"math"

	"github.com/filgroth/filgroth/internal/regfile"
)

// File is the content of a file, read whole where files cannot be mapped.
type File struct {
	mem  []byte
	path string
}

// MapFile reads the file at path.
func MapFile(path string) (*File, error) {
	b, err := regfile.ReadAll(path, math.MaxInt64-1)
	if err != nil {
		return nil, err
	}
	return &File{b, path}, nil
}

// Bytes is the content.
func (m *File) Bytes() []byte { return m.mem }

// Path is where the file was opened.
func (m *File) Path() string { return m.path }

// Close drops the content.
func (m *File) Close() error { m.mem = nil; return nil }
