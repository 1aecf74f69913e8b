package filgroth

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrClosed: use after Close.
	ErrClosed = errors.New("filgroth: engine closed")
	// ErrConfig: a Config has a value out of range.
	ErrConfig = errors.New("filgroth: bad config")
	// ErrUnsupported: a registered proof type that this call is not for.
	ErrUnsupported = errors.New("filgroth: unsupported proof type")
	// ErrVanilla: the vanilla proofs do not hold or do not belong to the request.
	ErrVanilla = errors.New("filgroth: vanilla proof does not hold")
	// ErrDevelopmentKey: the parameter directory holds a key from a published trapdoor, and Config.DevelopmentKeys is not set.
	ErrDevelopmentKey = errors.New("filgroth: a development key among the parameters: anyone can forge proofs under it")
	// ErrInput: a malformed argument; every InputError is one.
	ErrInput = errors.New("filgroth: bad input")
	// ErrRejected: the finished proof does not verify for the sector and miner given.
	ErrRejected = errors.New("filgroth: the proof does not verify for this request")
)

// InputError names the argument that is malformed. It is ErrInput and what Err is.
type InputError struct {
	Field string
	Err   error
}

func (e *InputError) Error() string { return fmt.Sprintf("filgroth: %s: %v", e.Field, e.Err) }

// Unwrap gives ErrInput and the cause.
func (e *InputError) Unwrap() []error { return []error{ErrInput, e.Err} }

// inputError is the context's error if it has ended, else an InputError.
func inputError(ctx context.Context, field string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &InputError{field, err}
}

// PartitionError is what went wrong in one partition of a proof.
type PartitionError struct {
	Index int
	Err   error
}

func (e *PartitionError) Error() string {
	return fmt.Sprintf("filgroth: partition %d: %v", e.Index, e.Err)
}

// Unwrap gives the cause.
func (e *PartitionError) Unwrap() error { return e.Err }

// BackendError is the failure of all backends that a partition was tried on, in order.
type BackendError struct {
	Attempts []Attempt
}

func (e *BackendError) Error() string {
	s := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		s[i] = fmt.Sprintf("%s: %v", a.Backend, a.Err)
	}
	return "filgroth: " + strings.Join(s, "; ")
}

// Unwrap gives the attempts' errors.
func (e *BackendError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	return errs
}
