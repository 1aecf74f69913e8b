package groth16

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Trapdoor is the toxic waste of a key: whoever knows it can forge proofs. Elements are in Montgomery form.
type Trapdoor struct {
	Alpha, Beta, Gamma, Delta, Tau fr.Element
}

// RandomTrapdoor draws one from the operating system's generator. Setup with no trapdoor does so itself and wipes it.
func RandomTrapdoor() (*Trapdoor, error) {
	t := new(Trapdoor)
	for _, e := range t.elements() {
		for e.IsZero() {
			if _, err := e.SetRandom(); err != nil {
				return nil, fmt.Errorf("groth16: drawing a trapdoor: %w", err)
			}
		}
	}
	return t, nil
}

// DevTrapdoor derives a published trapdoor from a tag: each element is the SHA-256 of tag+"/alpha" and so on, little
// endian, with the two top bits cleared. A key made from it proves nothing to anyone: it is for development and tests
// only, where it gives the same key everywhere.
func DevTrapdoor(tag string) *Trapdoor {
	t := new(Trapdoor)
	for i, name := range [...]string{"alpha", "beta", "gamma", "delta", "tau"} {
		h := sha256.Sum256([]byte(tag + "/" + name))
		h[31] &= 0x3f
		slices.Reverse(h[:])
		t.elements()[i].SetBytes(h[:])
	}
	return t
}

func (t *Trapdoor) elements() [5]*fr.Element {
	return [5]*fr.Element{&t.Alpha, &t.Beta, &t.Gamma, &t.Delta, &t.Tau}
}

// Wipe overwrites the trapdoor with zeros.
func (t *Trapdoor) Wipe() { *t = Trapdoor{} }

// Matches says whether vk was made from t over the standard generators: with the trapdoor of DevTrapdoor, whether it is
// a development key that everybody can forge proofs for.
func (t *Trapdoor) Matches(vk *VerifyingKey) bool {
	_, _, g1, g2 := bls12381.Generators()
	var p bls12381.G1Affine
	var q bls12381.G2Affine
	mul := func(e *fr.Element) *big.Int { return e.BigInt(new(big.Int)) }
	return p.ScalarMultiplication(&g1, mul(&t.Alpha)).Equal(&vk.AlphaG1) &&
		p.ScalarMultiplication(&g1, mul(&t.Delta)).Equal(&vk.DeltaG1) &&
		q.ScalarMultiplication(&g2, mul(&t.Beta)).Equal(&vk.BetaG2) &&
		q.ScalarMultiplication(&g2, mul(&t.Gamma)).Equal(&vk.GammaG2)
}

// check wants all elements non-zero and tau outside the domain of m points.
func (t *Trapdoor) check(m int) error {
	for i, name := range [...]string{"alpha", "beta", "gamma", "delta", "tau"} {
		if t.elements()[i].IsZero() {
			return fmt.Errorf("%w: %s is zero", ErrTrapdoor, name)
		}
	}
	if v := t.vanishing(m); v.IsZero() {
		return fmt.Errorf("%w: tau lies in the evaluation domain", ErrTrapdoor)
	}
	return nil
}

// vanishing is tau^m - 1.
func (t *Trapdoor) vanishing(m int) fr.Element {
	var v fr.Element
	one := fr.One()
	v.Exp(t.Tau, big.NewInt(int64(m)))
	v.Sub(&v, &one)
	return v
}
