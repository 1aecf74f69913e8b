package faulty

import (
	"context"
	"fmt"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// Backend is a groth16.Backend that wraps another one.
type Backend struct {
	Counter
	inner groth16.Backend
}

// NewBackend wraps inner; the faults are those of Bind and Sums.
func NewBackend(inner groth16.Backend, faults ...Fault) (*Backend, error) {
	if inner == nil {
		return nil, fmt.Errorf("%w: nothing to wrap", ErrConfig)
	}
	b := &Backend{inner: inner}
	return b, b.SetFaults(faults...)
}

// String names the backend in reports.
func (b *Backend) String() string { return fmt.Sprintf("faulty(%v)", b.inner) }

// Bind implements groth16.Backend.
func (b *Backend) Bind(ctx context.Context, sys *synth.System, key *groth16.ProvingKey, cfg groth16.Config) (groth16.Session, error) {
	if _, err := b.enter(ctx, Bind); err != nil {
		return nil, err
	}
	s, err := b.inner.Bind(ctx, sys, key, cfg)
	if err != nil {
		return nil, err
	}
	return &session{b, s}, nil
}

type session struct {
	b     *Backend
	inner groth16.Session
}

// Footprint implements groth16.Session.
func (s *session) Footprint(circuits int) pinning.Footprint { return s.inner.Footprint(circuits) }

// CircuitsPerCall passes on how many circuits the wrapped session wants at a time, which is optional for sessions.
func (s *session) CircuitsPerCall() int {
	if c, ok := s.inner.(interface{ CircuitsPerCall() int }); ok {
		return c.CircuitsPerCall()
	}
	return 1
}

// Held passes on what the wrapped session keeps between calls, which is optional too.
func (s *session) Held() pinning.Footprint {
	if h, ok := s.inner.(interface{ Held() pinning.Footprint }); ok {
		return h.Held()
	}
	return pinning.Footprint{}
}

// DeviceBytes passes on the most device memory that it held.
func (s *session) DeviceBytes() int64 {
	if d, ok := s.inner.(interface{ DeviceBytes() int64 }); ok {
		return d.DeviceBytes()
	}
	return 0
}

// Sums implements groth16.Session. A wrong result has the generator added to the first circuit's A.
func (s *session) Sums(ctx context.Context, as []*synth.Assignment) ([]groth16.Sums, error) {
	wrong, err := s.b.enter(ctx, Sums)
	if err != nil {
		return nil, err
	}
	sums, err := s.inner.Sums(ctx, as)
	if err == nil && wrong && len(sums) > 0 {
		g, _, _, _ := bls12381.Generators()
		sums[0].A.AddAssign(&g)
	}
	return sums, err
}

// Close implements groth16.Session.
func (s *session) Close() error { return s.inner.Close() }
