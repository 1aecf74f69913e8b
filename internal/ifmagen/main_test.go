package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed assembly is what this generator writes.
func TestUpToDate(t *testing.T) {
	for part, file := range map[string]string{
		"g1":  "../../msm/g1_ifma_amd64.s",
		"g2":  "../../msm/g2_ifma_amd64.s",
		"ntt": "../../ntt/ntt_ifma_amd64.s",
	} {
		have, err := os.ReadFile(file)
		require.NoError(t, err)
		want, ok := generate(part)
		require.True(t, ok)
		require.True(t, string(want) == string(have), "%s is stale: run go generate ./msm ./ntt", file)
	}
	_, ok := generate("")
	require.False(t, ok)
}
