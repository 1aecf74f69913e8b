package keys

import (
	"errors"
	"fmt"
)

var (
	// ErrInputRows: the gnark system has no input rows, so that its proving key is no key of our system, nor ours its.
	ErrInputRows = errors.New("keys: the gnark system lacks the input rows (gnarkcs.AppendInputRows) and so does its proving key")
	// ErrKey: a key is not well formed or not one of the circuit; every KeyError is one.
	ErrKey = errors.New("keys: bad gnark key")
	// ErrProof: a proof that has no place in the other system.
	ErrProof = errors.New("keys: bad proof")
)

// KeyError says where a key is wrong: the field by gnark's name, the wire or position (-1 where it is about no single one).
type KeyError struct {
	Field   string
	Index   int
	Problem string
}

func (e *KeyError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("keys: gnark key: %s: %s", e.Field, e.Problem)
	}
	return fmt.Sprintf("keys: gnark key: %s[%d]: %s", e.Field, e.Index, e.Problem)
}

// Is makes errors.Is(err, ErrKey) hold.
func (e *KeyError) Is(target error) bool { return target == ErrKey }
