package groth16

import (
	"fmt"

	"github.com/filgroth/filgroth/pinning"
)

// guard runs code of the backend; what it panics with becomes an error.
func (p *prover) guard(call string, f func() error) error { return catch(p.name, call, f) }

// catch runs f; what it panics with becomes an error that says who did, in which call.
func catch(who, call string, f func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%w: %s panicked in %s: %v", ErrBackend, who, call, x)
		}
	}()
	return f()
}

// maxBytes bounds what a backend says of its memory: two such numbers can be added up.
const maxBytes = 1 << 61

// bytes are what a backend says, within what can be. Where it panics it has said nothing.
func (p *prover) bytes(f func() pinning.Footprint) (fp pinning.Footprint) {
	_ = p.guard("a figure of memory", func() error {
		fp = f()
		return nil
	})
	for _, n := range []*int64{&fp.Host, &fp.Pinned, &fp.Device} {
		*n = min(max(0, *n), maxBytes)
	}
	return fp
}
