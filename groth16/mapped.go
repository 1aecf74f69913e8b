package groth16

import (
	"errors"
	"runtime"
	"runtime/debug"
)

// ErrTruncated: a parameter file was made shorter while it was in use. Such files are replaced by rename, never changed in place.
var ErrTruncated = errors.New("groth16: the file has become shorter, or cannot be read, since it was opened")

// mapped runs f, which reads the section s. Where the bytes are those of a file and are gone, that is a *KeyError and not the end of the
// process.
func (k *ProvingKey) mapped(s Section, f func() error) (err error) {
	old := debug.SetPanicOnFault(true) // of this goroutine
	defer func() {
		debug.SetPanicOnFault(old)
		switch x := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = &KeyError{k.path, s.String(), -1, ErrTruncated}
		default:
			panic(x)
		}
	}()
	return f()
}
