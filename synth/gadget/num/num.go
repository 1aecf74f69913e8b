// Package num is the gadget of allocated field elements: arithmetic, bit decomposition, linear numbers.
package num

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/synth"
)

// Num is an allocated variable with its value (Montgomery; zero in Shape mode).
type Num struct {
	Var synth.Var
	Val fr.Element
}

// Alloc allocates an aux variable with value v.
func Alloc(b *synth.Builder, v fr.Element) Num { return Num{b.Alloc(v), v} }
