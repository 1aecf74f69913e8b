//go:build !cgo || !linux

package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithoutCgo(t *testing.T) {
	_, err := Open(Options{})
	require.ErrorIs(t, err, ErrNoLibrary)
	require.Contains(t, err.Error(), "without cgo")
	require.ErrorIs(t, Probe(Options{}).Err, ErrNoLibrary)
}
