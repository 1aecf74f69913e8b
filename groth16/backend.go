package groth16

import (
	"context"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
)

// Sums are the five sums of one circuit before blinding. A, B1 and B2 cover inputs and aux, without alpha and beta; H is
// the sum of the quotient's coefficients over the h query, L that of all aux over the l query.
type Sums struct {
	H, L, A, B1 bls12381.G1Jac
	B2          bls12381.G2Jac
}

// Backend computes the sums of proofs. Implementations are safe for concurrent use.
type Backend interface {
	// Bind prepares a session for proofs of sys under key; both must outlive it. It checks that they fit (ErrDimension)
	// and that cfg can be run (ErrConfig, ErrUnavailable).
	Bind(ctx context.Context, sys *synth.System, key *ProvingKey, cfg Config) (Session, error)
}

// Session is a bound backend. It is safe for concurrent use.
type Session interface {
	// Footprint is the memory that one Sums call of so many circuits takes beyond what the session holds already.
	Footprint(circuits int) pinning.Footprint
	// Sums computes the sums of each assignment, in order. Assignments are only read. Once ctx ends it returns ctx.Err()
	// with all memory given back; after Close, ErrClosed.
	Sums(ctx context.Context, assignments []*synth.Assignment) ([]Sums, error)
	// Close waits for running calls and gives the session's memory back. A second Close is ErrClosed.
	Close() error
}
