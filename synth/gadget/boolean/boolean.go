// Package boolean is the gadget of bits: allocated bits, their negations and constants, and the Boolean operations with
// the constant folding of the deployed circuits.
package boolean

import "github.com/filgroth/filgroth/synth"

// Bool is a constant, an allocated bit, or the negation of one. Val is the value of the Bool itself (negation applied);
// for variables it is meaningless in Shape mode.
type Bool struct {
	Var  synth.Var
	Kind synth.WireKind
	Val  bool
}
