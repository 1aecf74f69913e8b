// Package msm computes sums k_0·P_0 + k_1·P_1 + ... over G1 and G2 of BLS12-381, with
// scalars given in full or, where most of them are 0 or 1, as packed bits and a tail.
//
// [Engine] is the contract, [NewCPU] the implementation for the host; package
// msm/msmtest is the suite that every implementation passes. The package is for
// provers: nothing here runs in constant time with respect to scalars other than what
// the processor gives by itself, and points are taken as they come (on the curve,
// unchecked). Whoever signs or decrypts wants something else.
package msm

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Scalars are the multipliers of a sum over n points, in one of two forms.
//
// Dense holds one scalar a point. Or Bits holds one bit a point (bit i%64 of word i/64
// belongs to point i, all later bits are zero; 1 means the scalar 1), and the points
// TailAt[j] have the scalar Tail[j] instead: TailAt is strictly increasing, below n, and
// the bits at its positions are zero. Field elements are in Montgomery form, as
// gnark-crypto holds them. Engines read scalars and never write or keep them.
type Scalars struct {
	Dense  []fr.Element
	Bits   []uint64
	Tail   []fr.Element
	TailAt []uint32
}

// Engine computes sums. Implementations are safe for concurrent use, leave their
// arguments unmodified, and treat points at infinity, repeated and opposite points and
// n = 0 (the sum is infinity) as the group law says. They stop within a quarter of a
// second of the end of ctx and then return ctx.Err().
type Engine interface {
	G1(ctx context.Context, points []bls12381.G1Affine, k Scalars, cfg Config) (bls12381.G1Jac, error)
	G2(ctx context.Context, points []bls12381.G2Affine, k Scalars, cfg Config) (bls12381.G2Jac, error)
}

// ErrScalars is what every [ScalarsError] is.
var ErrScalars = errors.New("msm: bad scalars")

// ScalarsError says which member of [Scalars] does not fit the points.
type ScalarsError struct {
	Field  string // "Dense", "Bits", "Tail" or "TailAt"
	Index  int    // the first offending element, -1 where the length is wrong
	Reason string
}

func (e *ScalarsError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("msm: scalars.%s: %s", e.Field, e.Reason)
	}
	return fmt.Sprintf("msm: scalars.%s[%d]: %s", e.Field, e.Index, e.Reason)
}

// Is makes errors.Is(err, ErrScalars) hold.
func (e *ScalarsError) Is(target error) bool { return target == ErrScalars }

// Check returns a *ScalarsError if k does not fit n points, else nil. Every engine
// checks before it works. It reads TailAt and a bit for each of its members.
func (k Scalars) Check(n int) error {
	if k.Dense != nil || k.Bits == nil && k.Tail == nil && k.TailAt == nil {
		switch {
		case k.Bits != nil || k.Tail != nil || k.TailAt != nil:
			return &ScalarsError{"Dense", -1, "given together with Bits or Tail"}
		case len(k.Dense) != n:
			return &ScalarsError{"Dense", -1, fmt.Sprintf("%d scalars for %d points", len(k.Dense), n)}
		}
		return nil
	}
	if want := (n + 63) / 64; len(k.Bits) != want {
		return &ScalarsError{"Bits", -1, fmt.Sprintf("%d words for %d points, want %d", len(k.Bits), n, want)}
	}
	if n%64 != 0 && k.Bits[n/64]>>(n%64) != 0 {
		return &ScalarsError{"Bits", n/64*64 + 63 - bits.LeadingZeros64(k.Bits[n/64]), "set beyond the last point"}
	}
	if len(k.Tail) != len(k.TailAt) {
		return &ScalarsError{"Tail", -1, fmt.Sprintf("%d scalars for %d positions", len(k.Tail), len(k.TailAt))}
	}
	for j, at := range k.TailAt {
		switch {
		case uint64(at) >= uint64(n):
			return &ScalarsError{"TailAt", j, fmt.Sprintf("position %d of %d points", at, n)}
		case j > 0 && at <= k.TailAt[j-1]:
			return &ScalarsError{"TailAt", j, fmt.Sprintf("position %d after %d: must increase", at, k.TailAt[j-1])}
		case k.Bits[at/64]>>(at%64)&1 != 0:
			return &ScalarsError{"TailAt", j, fmt.Sprintf("the bit of position %d is set too", at)}
		}
	}
	return nil
}
