//go:build long

package post

import (
	"testing"

	"github.com/filgroth/filgroth/synth/internal/circuittest"
)

// TestCircuitGoldenWindow32GiB compares all 125,279,217 rows of the production partition with the deployed stack.
func TestCircuitGoldenWindow32GiB(t *testing.T) {
	const name = "window-32g"
	circuittest.Check(t, circuittest.Load(t, "testdata/circuits.json.gz")[name], &Circuit{Shape: circuitShapes(t)[name]})
}
