package synth

import (
	"errors"
	"fmt"
)

var (
	// ErrTooLarge: more variables or rows than a System can index.
	ErrTooLarge = errors.New("synth: constraint system too large")
	// ErrShape: an assignment, or a circuit in Assign mode, does not have the shape of its System.
	ErrShape = errors.New("synth: shape differs from the compiled system")
	// ErrLength: a slice that a function was given has the wrong length.
	ErrLength = errors.New("synth: wrong length")
	// ErrClosed: use after Close.
	ErrClosed = errors.New("synth: closed")
	// ErrFormat: a system file is damaged or not one.
	ErrFormat = errors.New("synth: bad system file")
	// ErrConfig: a Config has a value out of range.
	ErrConfig = errors.New("synth: bad config")
)

// PanicError is a panic of a circuit while it was given values: one value in many may be the first to divide by zero, and must not end
// the process.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("synth: the circuit panicked: %v", e.Value) }

// UnsatisfiedError names the first row that an assignment does not satisfy.
type UnsatisfiedError struct {
	Row int
	// A, B and C are the three values of the row, canonical decimal.
	A, B, C string
}

func (e *UnsatisfiedError) Error() string {
	return fmt.Sprintf("synth: constraint %d is not satisfied: %s * %s != %s", e.Row, e.A, e.B, e.C)
}
