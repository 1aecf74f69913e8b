package groth16

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed: use after Close.
	ErrClosed = errors.New("groth16: closed")
	// ErrConfig: a Config has a value out of range.
	ErrConfig = errors.New("groth16: bad config")
	// ErrNoRoom: a backend's memory does not hold another session. To close sessions that are open may help. For backends; package
	// gpu's out-of-memory errors are this too.
	ErrNoRoom = errors.New("groth16: no room for another session")
	// ErrUnavailable: a Config asks for what this backend or machine does not have.
	ErrUnavailable = errors.New("groth16: unavailable")
	// ErrKey: a key file is damaged or not one; every KeyError is one.
	ErrKey = errors.New("groth16: bad key")
	// ErrWrongCurve: a key of another curve or another system's key file.
	ErrWrongCurve = fmt.Errorf("%w: not a bellperson key over BLS12-381", ErrKey)
	// ErrDimension: a key does not have the dimensions of the constraint system; every DimensionError is one.
	ErrDimension = errors.New("groth16: key and constraint system differ")
	// ErrProof: bytes that are not a proof; every ProofError is one.
	ErrProof = errors.New("groth16: bad proof encoding")
	// ErrInputs: a wrong number of public inputs, or one out of range.
	ErrInputs = errors.New("groth16: bad public inputs")
	// ErrSelfCheck: a proof that was just made does not verify; every SelfCheckError is one.
	ErrSelfCheck = errors.New("groth16: the proof made does not verify")
	// ErrTrapdoor: a trapdoor for which there is no key.
	ErrTrapdoor = errors.New("groth16: bad trapdoor")
)

// KeyError says what is wrong with a key: where, in which section and, for a point, at which index (-1 where it is not
// about one point). It is ErrKey, and what Err is.
type KeyError struct {
	Path    string // the file, "" if the key came from elsewhere
	Section string // "alpha_g1", ..., "ic", "h", "l", "a", "b_g1", "b_g2", or "file"
	Index   int
	Err     error
}

func (e *KeyError) Error() string {
	s := "groth16: key"
	if e.Path != "" {
		s += " " + e.Path
	}
	s += ": " + e.Section
	if e.Index >= 0 {
		s += fmt.Sprintf("[%d]", e.Index)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap gives ErrKey and the cause.
func (e *KeyError) Unwrap() []error { return []error{ErrKey, e.Err} }

// LengthError is a length other than the one expected, in points or, for a file, bytes.
type LengthError struct {
	Expected, Found int64
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("length %d, expected %d", e.Found, e.Expected)
}

// DimensionError says which part of a key does not fit the constraint system. It is ErrDimension.
type DimensionError struct {
	Section         string // "ic", "h", "l", "a", "b_g1", "b_g2", or "r1cs" for the digest
	Expected, Found int
	Note            string
}

func (e *DimensionError) Error() string {
	s := fmt.Sprintf("groth16: key does not fit the constraint system: %s has %d points, expected %d", e.Section, e.Found, e.Expected)
	if e.Note != "" {
		s += " (" + e.Note + ")"
	}
	return s
}

// Is makes errors.Is(err, ErrDimension) hold.
func (e *DimensionError) Is(target error) bool { return target == ErrDimension }

// ProofError names the element ("A", "B", "C", or "length") of which proof of a list cannot be decoded. It is ErrProof.
type ProofError struct {
	Index int // position in a list of proofs
	Field string
	Err   error
}

func (e *ProofError) Error() string {
	return fmt.Sprintf("groth16: proof %d: %s: %v", e.Index, e.Field, e.Err)
}

// Unwrap gives ErrProof and the cause.
func (e *ProofError) Unwrap() []error { return []error{ErrProof, e.Err} }

// SelfCheckError: the proof of a circuit does not verify. Cause is a *synth.UnsatisfiedError where the assignment does
// not satisfy the system; nil says that it does, so that the key is of another system or the backend computed wrongly.
type SelfCheckError struct {
	Circuit int // position in the batch
	Backend string
	Cause   error
}

func (e *SelfCheckError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("groth16: circuit %d: the proof made does not verify: %v", e.Circuit, e.Cause)
	}
	return fmt.Sprintf("groth16: circuit %d: the proof made by %s does not verify though the assignment satisfies the system: "+
		"the key belongs to another system, or the backend computed wrongly", e.Circuit, e.Backend)
}

// Unwrap gives ErrSelfCheck and the cause.
func (e *SelfCheckError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrSelfCheck}
	}
	return []error{ErrSelfCheck, e.Cause}
}
