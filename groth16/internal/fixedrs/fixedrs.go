// Package fixedrs lets tests of this module fix the blinding of proofs, so that proof bytes can be compared. A proof with
// known blinding is not zero-knowledge: only tests under package groth16 can reach this, others through
// groth16test.FixedRS, which wants a testing.TB.
package fixedrs

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

type key struct{}

// Draw gives the blinding of the next proof.
type Draw func() (r, s fr.Element)

// With makes proofs under the returned context take their blinding from draw, in order.
func With(ctx context.Context, draw Draw) context.Context { return context.WithValue(ctx, key{}, draw) }

// From gives what With set, or nil.
func From(ctx context.Context) Draw {
	d, _ := ctx.Value(key{}).(Draw)
	return d
}
