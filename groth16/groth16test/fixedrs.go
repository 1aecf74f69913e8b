// Package groth16test is the suite that every groth16.Backend passes, and what tests need to compare proofs byte by
// byte. It is for tests only.
package groth16test

import (
	"context"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/groth16/internal/fixedrs"
)

// FixedRS makes the proofs made under the returned context take their r and s from rs, in the order of their circuits,
// so that their bytes can be compared with recorded ones. Asking for more than there are fails the test. Such proofs are
// not zero-knowledge.
func FixedRS(tb testing.TB, ctx context.Context, rs ...[2]fr.Element) context.Context {
	tb.Helper()
	var mu sync.Mutex
	return fixedrs.With(ctx, func() (r, s fr.Element) {
		mu.Lock()
		defer mu.Unlock()
		if len(rs) == 0 {
			tb.Error("more proofs than fixed r and s")
			return
		}
		r, s = rs[0][0], rs[0][1]
		rs = rs[1:]
		return
	})
}
