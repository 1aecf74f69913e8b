// Package ntt transforms vectors over the scalar field of BLS12-381 between the
// evaluations and the coefficients of polynomials, and computes Groth16's quotient.
//
// [Engine] is the contract, [NewCPU] the implementation for the host; package
// ntt/ntttest is the suite that every implementation passes. Domains are subgroups of
// order 2^k and their coset by 7, as the deployed Filecoin keys need them; whoever needs
// other shifts or orders wants gnark-crypto's fft.
package ntt

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Direction says which way a transform goes.
type Direction uint8

const (
	Forward Direction = iota // coefficients to evaluations
	Inverse                  // evaluations to coefficients
)

func (d Direction) String() string { return [...]string{"forward", "inverse"}[d&1] }

// Coset says where the evaluations are.
type Coset uint8

const (
	Plain   Coset = iota // at omega^j
	Shifted              // at 7·omega^j
)

func (c Coset) String() string { return [...]string{"plain", "shifted"}[c&1] }

// Engine computes transforms. All vectors are in natural order, in Montgomery form, and
// as long as the domain: otherwise the error is a *[LengthError] and nothing is touched.
// Implementations are safe for concurrent use on different vectors. When ctx ends they
// stop within a pass over the vector and return ctx.Err(), with the vectors in an
// unspecified state.
type Engine interface {
	// Transform replaces v. Forward is v[j] = sum of v[i]·x^i at x = omega^j or
	// 7·omega^j; Inverse undoes it. Engines may take scratch of the size of v.
	Transform(ctx context.Context, d Domain, v []fr.Element, dir Direction, coset Coset) error
	// Quotient leaves in a the coefficients of (A·B - C)/(X^m - 1), where A, B and C are
	// the polynomials of degree below m = d.Size() with evaluations a, b, c on the domain,
	// computed on the coset: exact where a·b = c at every point, and otherwise the
	// polynomial of degree below m that takes the quotient's values there. b and c are
	// scratch afterwards. The vectors must not overlap.
	Quotient(ctx context.Context, d Domain, a, b, c []fr.Element) error
}

// MaxLog is the binary logarithm of the largest domain, as in the deployed prover.
const MaxLog = 31

// Errors of this package.
var (
	ErrDomain      = errors.New("ntt: bad domain")
	ErrLength      = errors.New("ntt: wrong length")
	ErrConfig      = errors.New("ntt: bad config")
	ErrUnavailable = errors.New("ntt: unavailable on this machine")
)

// LengthError says which vector does not fit the domain. It is ErrLength.
type LengthError struct {
	Vector   string // "v", "a", "b" or "c"
	Have     int
	Want     uint64
	Overlaps string // the vector that it overlaps, if that is the fault
}

func (e *LengthError) Error() string {
	if e.Overlaps != "" {
		return fmt.Sprintf("ntt: vectors %s and %s overlap", e.Vector, e.Overlaps)
	}
	return fmt.Sprintf("ntt: vector %s has length %d, the domain %d", e.Vector, e.Have, e.Want)
}

// Is makes errors.Is(err, ErrLength) hold.
func (e *LengthError) Is(target error) bool { return target == ErrLength }

// Domain is a multiplicative subgroup of order 2^k. It is a small value; the zero
// Domain is not valid and is refused by engines.
type Domain struct {
	valid bool
	log   uint8
	root  fr.Element
}

// rootOfUnity has order 2^32: it is 7^((r-1)/2^32).
const rootOfUnity = "0x16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b"

// shift is the coset shift, a generator of the multiplicative group.
const shift = 7

// NewDomain returns the smallest domain of at least n points, with the root
// rootOfUnity^(2^(32-k)). More than 2^31 points are ErrDomain.
func NewDomain(n uint64) (Domain, error) {
	log := 0
	if n > 1 {
		log = bits.Len64(n - 1)
	}
	if log > MaxLog {
		return Domain{}, fmt.Errorf("%w: %d points: at most 2^%d", ErrDomain, n, MaxLog)
	}
	root := mustElement(rootOfUnity)
	for i := 32; i > log; i-- {
		root.Square(&root)
	}
	return Domain{valid: true, log: uint8(log), root: root}, nil
}

func mustElement(hex string) fr.Element {
	var e fr.Element
	v, ok := new(big.Int).SetString(hex, 0)
	if !ok {
		panic("ntt: bad constant " + hex)
	}
	e.SetBigInt(v)
	return e
}

// Size is the number of points.
func (d Domain) Size() uint64 {
	if !d.valid {
		return 0
	}
	return 1 << d.log
}

// Log is the binary logarithm of Size.
func (d Domain) Log() int { return int(d.log) }

// Root is the primitive root omega, in Montgomery form.
func (d Domain) Root() fr.Element { return d.root }

// Shift is the shift of the coset, 7, in Montgomery form.
func (d Domain) Shift() fr.Element { return fr.NewElement(shift) }

// Check returns ErrDomain for the zero Domain and a *LengthError for a vector of another
// length. name is the vector's name in the error.
func (d Domain) Check(name string, v []fr.Element) error {
	if !d.valid {
		return fmt.Errorf("%w: not made by NewDomain", ErrDomain)
	}
	if uint64(len(v)) != d.Size() {
		return &LengthError{Vector: name, Have: len(v), Want: d.Size()}
	}
	return nil
}

// CheckQuotient checks the arguments of Engine.Quotient.
func (d Domain) CheckQuotient(a, b, c []fr.Element) error {
	vectors := [...]struct {
		name string
		v    []fr.Element
	}{{"a", a}, {"b", b}, {"c", c}}
	for i, x := range vectors {
		if err := d.Check(x.name, x.v); err != nil {
			return err
		}
		for _, y := range vectors[:i] {

			if overlap(x.v, y.v) {
				return &LengthError{Vector: x.name, Have: len(x.v), Want: d.Size(), Overlaps: y.name}
			}
		}
	}
	return nil
}
