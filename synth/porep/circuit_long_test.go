//go:build long

package porep

import (
	"testing"

	"github.com/filgroth/filgroth/synth/internal/circuittest"
)

// TestCircuitGolden32GiB compares all 130,278,541 rows of the production partition with the deployed stack.
func TestCircuitGolden32GiB(t *testing.T) {
	const name = "porep-32g"
	circuittest.Check(t, circuittest.Load(t, "testdata/circuits.json.gz")[name], &Circuit{Shape: circuitShapes(t)[name]})
}
