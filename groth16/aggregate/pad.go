package aggregate

import (
	"math/bits"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/filgroth/filgroth/groth16"
)

// PaddedCount is the number of proofs that n proofs are aggregated as: the next power of two, and at least 2.
func PaddedCount(n int) int {
	if n <= 2 {
		return 2
	}
	return 1 << bits.Len(uint(n-1))
}

// PadProofs repeats the last proof until there are PaddedCount of them. The result is a new slice of the same proofs.
func PadProofs(proofs []*groth16.Proof) ([]*groth16.Proof, error) {
	return pad("proofs", proofs)
}

// PadInputs repeats the last vector of public inputs as PadProofs repeats the last proof. The result is a new slice
// of the same vectors.
func PadInputs(inputs [][]fr.Element) ([][]fr.Element, error) {
	return pad("inputs", inputs)
}

func pad[T any](field string, list []T) ([]T, error) {
	if len(list) == 0 || len(list) > MaxProofs {
		return nil, refused(field, -1, "%d of them, not from 1 to %d", len(list), MaxProofs)
	}
	n := PaddedCount(len(list))
	out := append(make([]T, 0, n), list...)
	return append(out, slices.Repeat(list[len(list)-1:], n-len(list))...), nil
}
