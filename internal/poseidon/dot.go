package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// MaxDot is the most terms of an inner product with one reduction.
const MaxDot = 2 * MaxArity

// Dot is the inner product of two vectors of the same length, at most MaxDot, in Montgomery form.
func Dot(a, b []fr.Element) fr.Element { return dot(a, b) }
