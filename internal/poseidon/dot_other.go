//go:build !amd64 || purego

package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// dot returns the inner product of two vectors of the same length, at most 2*MaxArity, with one Montgomery reduction in all.
func dot(a, b []fr.Element) fr.Element { return dotGeneric(a, b) }
