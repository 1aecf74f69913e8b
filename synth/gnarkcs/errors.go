package gnarkcs

import (
	"errors"
	"fmt"
)

var (
	// ErrUnsupported: a gnark constraint system that is no R1CS over BLS12-381.
	ErrUnsupported = errors.New("gnarkcs: not a BLS12-381 R1CS of gnark")
	// ErrCommitment: the circuit uses gnark's commitments, an extension of Groth16 with keys and proofs of its own.
	ErrCommitment = errors.New("gnarkcs: the circuit uses gnark's commitment extension")
	// ErrMalformed: a constraint system whose rows name wires or coefficients that it does not have.
	ErrMalformed = errors.New("gnarkcs: malformed constraint system")
	// ErrWitness: a vector of wire values of the wrong length, or whose first value is not one.
	ErrWitness = errors.New("gnarkcs: bad witness")
	// ErrConfig: an option has a value out of range.
	ErrConfig = errors.New("gnarkcs: bad config")
)

// SolveError is a failure of gnark's solver. Row is the constraint that the witness does not satisfy, which is also the row
// of the System, or -1 where the solver failed for another reason (a missing hint, a hint's own error).
type SolveError struct {
	Row int
	Err error
}

func (e *SolveError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("gnarkcs: solver: %v", e.Err)
	}
	return fmt.Sprintf("gnarkcs: row %d is not satisfied: %v", e.Row, e.Err)
}

// Unwrap gives gnark's error.
func (e *SolveError) Unwrap() error { return e.Err }
