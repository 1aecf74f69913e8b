//go:build unix

package pinning

import (
	"fmt"

	"github.com/filgroth/filgroth/internal/regfile"
	"golang.org/x/sys/unix"
)

// File is a read-only mapping of a whole file. Its pages belong to the page cache, not to the process's budget.
type File struct {
	mem  []byte
	path string
}

// MapFile maps the file at path for reading.
func MapFile(path string) (*File, error) {
	f, err := regfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m := &File{path: path}
	if st.Size() == 0 {
		return m, nil
	}
	m.mem, err = unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("pinning: mapping %s: %w", path, err)
	}
	return m, nil
}

// Bytes is the content. A file that is truncated by others while it is mapped makes reads fault: parameter files are
// replaced by rename, never changed in place.
func (m *File) Bytes() []byte { return m.mem }

// Path is where the file was opened.
func (m *File) Path() string { return m.path }

// Close unmaps; the slice must not be used after it.
func (m *File) Close() error {
	mem := m.mem
	m.mem = nil
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem)
}
