package bundle

import (
	"errors"
	"fmt"
)

var (
	// ErrFormat: a file that is damaged or no bundle; every FormatError is one.
	ErrFormat = errors.New("bundle: bad bundle")
	// ErrKey: a proving key that is not the one that the bundle was made with, or none where one is needed.
	ErrKey = errors.New("bundle: another proving key")
	// ErrClosed: use after Close.
	ErrClosed = errors.New("bundle: closed")
)

// FormatError says where a bundle is wrong: the section ("header" and "file" among them) and, for an element, which (-1 where
// it is about no single one). It is ErrFormat and what Err is.
type FormatError struct {
	Path    string
	Section string
	Index   int
	Err     error
}

func (e *FormatError) Error() string {
	s := "bundle"
	if e.Path != "" {
		s += " " + e.Path
	}
	s += ": " + e.Section
	if e.Index >= 0 {
		s += fmt.Sprintf("[%d]", e.Index)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap gives ErrFormat and the cause.
func (e *FormatError) Unwrap() []error { return []error{ErrFormat, e.Err} }
