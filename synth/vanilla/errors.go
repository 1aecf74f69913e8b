package vanilla

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const reasonCanonical = "is not a canonical field element (not below the modulus)"

// FieldError says which field of a vanilla proof is malformed or wrong, and why.
type FieldError struct {
	Path   string // dotted path, e.g. "vanilla_proofs.StackedDrg2KiBV1[0][1].comm_d_proofs.data.Single.path.path[3].index"
	Offset int    // byte offset in the decoded input, or -1
	Reason string
}

func (e *FieldError) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	if e.Offset >= 0 {
		fmt.Fprintf(&b, " (at byte %d)", e.Offset)
	}
	return b.String()
}

// Errorf returns a FieldError without an offset.
func Errorf(path, format string, args ...any) *FieldError {
	return &FieldError{Path: path, Offset: -1, Reason: fmt.Sprintf(format, args...)}
}

// In puts a path in front of the path of a FieldError; another error becomes the reason of a new one. nil stays nil.
func In(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	var f *FieldError
	if !errors.As(err, &f) {
		return Errorf(path, "%v", err)
	}
	g := *f
	switch {
	case g.Path == "":
		g.Path = path
	case g.Path[0] == '[':
		g.Path = path + g.Path
	default:
		g.Path = path + "." + g.Path
	}
	return &g
}

// At is In with the path of a list element.
func At(i int, err error) error {
	if err == nil {
		return nil
	}
	return In("["+strconv.Itoa(i)+"]", err)
}
