package aggregate

import (
	"errors"
	"fmt"
)

// Kinds of failure, for errors.Is.
var (
	// ErrMalformed says that bytes are no aggregate proof, or no SRS.
	ErrMalformed = errors.New("malformed")
	// ErrArgument says that well-formed values do not fit together: a count, a length, a version.
	ErrArgument = errors.New("argument refused")
)

// Error names the part of the input that was refused.
type Error struct {
	Kind  error  // ErrMalformed or ErrArgument
	Field string // as in the list of fields of the encoding, or the name of the argument
	Index int    // round, position in a vector; -1 where the field has none
	Err   error  // what is wrong with it
}

func (e *Error) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("aggregate: %v: %s: %v", e.Kind, e.Field, e.Err)
	}
	return fmt.Sprintf("aggregate: %v: %s[%d]: %v", e.Kind, e.Field, e.Index, e.Err)
}

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

func malformed(field string, index int, err error) error {
	return &Error{ErrMalformed, field, index, err}
}

func refused(field string, index int, format string, args ...any) error {
	return &Error{ErrArgument, field, index, fmt.Errorf(format, args...)}
}
