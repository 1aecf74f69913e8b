package poseidon

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	native "github.com/filgroth/filgroth/internal/poseidon"
)

// Value is what Hash allocates for these inputs (1 to 36 of them): the hash outside of a circuit, for whoever makes the
// witness of one.
func Value(in ...fr.Element) fr.Element {
	checkArity(len(in))
	return native.Sum(in)
}

// ValueTagged is what HashTagged allocates.
func ValueTagged(tag uint64, in ...fr.Element) fr.Element {
	checkArity(len(in))
	var t fr.Element
	t.SetUint64(tag)
	return native.Hash(t, in)
}

func checkArity(n int) {
	if n < 1 || n > native.MaxArity {
		panic(fmt.Sprintf("poseidon: %d inputs, need 1 to %d", n, native.MaxArity))
	}
}
