// Package poseidon computes the Poseidon permutation over the BLS12-381 scalar field with the constants of the deployed Filecoin
// stack (x^5 S-box, 128-bit security, Cauchy MDS matrix, Grain LFSR round constants), in the "optimised" form in which partial
// rounds use sparse matrices.
//
// It is the native (out of circuit) hash and the one source of the constants for the circuit. It is not a general Poseidon
// library: other curves, strengths or S-boxes are out of scope.
//
// Source: Grassi et al., "Poseidon: A New Hash Function for Zero-Knowledge Proof Systems", https://eprint.iacr.org/2019/458,
// appendix B for the sparse factorisation.
package poseidon

import (
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// MaxArity is the largest supported preimage length.
const MaxArity = 36

// halfFull is the number of full rounds at each end.
const halfFull = 4

// TagGen is the domain tag of the SnapDeals randomness hash (a custom type with identifier 1).
const TagGen = uint64(1) << 40

// Sparse is one matrix of a partial round: column 0 is W (length T), row 0 is (W[0], V...) with V of length T-1, the rest is the
// identity.
type Sparse struct {
	W []fr.Element
	V []fr.Element
}

// Params holds the constants of one width, in Montgomery form. It is shared between callers and must not be modified.
type Params struct {
	T   int        // state width = arity + 1
	RF  int        // full rounds
	RP  int        // partial rounds
	Tag fr.Element // default domain tag, 2^arity - 1
	// CRC are the compressed round constants: 5T for the first four full rounds (T before, then T after each S-box layer), RP for
	// the partial rounds, 3T for the last ones.
	CRC    []fr.Element
	M      [][]fr.Element // MDS matrix, row major; new[j] = sum_i state[i] M[i][j]
	Pre    [][]fr.Element // matrix of the fourth full round
	Sparse []Sparse       // partial round matrices in order of application

	rc   []fr.Element // uncompressed round constants, T (RF+RP) values
	mT   []fr.Element // M by columns, contiguous
	preT []fr.Element // Pre by columns, contiguous
}

var cache [MaxArity + 1]struct {
	once sync.Once
	c    *Params
}

// Constants returns the constants for preimages of the given length, 1 to MaxArity; they are computed at the first call (about a
// tenth of a second for the largest) and shared afterwards. Another arity is a programming error and panics.
func Constants(arity int) *Params {
	if arity < 1 || arity > MaxArity {
		panic(fmt.Sprintf("poseidon: arity %d is not in 1..%d", arity, MaxArity))
	}
	e := &cache[arity]
	e.once.Do(func() { e.c = newParams(arity) })
	return e.c
}

// Hash returns the Poseidon hash of in (length 1 to MaxArity) under a domain tag. All values are in Montgomery form; in is not
// modified. It does not allocate.
func Hash(tag fr.Element, in []fr.Element) fr.Element {
	return Constants(len(in)).Hash(tag, in)
}

// Sum returns the hash of in under the default (Merkle tree) domain tag 2^len(in) - 1.
func Sum(in []fr.Element) fr.Element {
	c := Constants(len(in))
	return c.Hash(c.Tag, in)
}

// Sum2 is the two-to-one hash under the default domain tag.
func Sum2(a, b *fr.Element) fr.Element {
	c := Constants(2)
	return c.Hash(c.Tag, []fr.Element{*a, *b})
}
