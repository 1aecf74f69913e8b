package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/examples/internal/cli"
)

// TestRun: the example does what its comment says.
func TestRun(t *testing.T) {
	o := options{Prover: cli.Prover{Backend: "cpu", Threads: 2}, depth: 3, leaf: 6, dir: filepath.Join(t.TempDir(), "made", "here")}
	require.NoError(t, o.run(t.Context()))
}
