//go:build long

package update

import "testing"

// TestCircuitGoldenLong compares the circuits that the normal test leaves out, up to the 81,049,499 rows of 32 GiB sectors.
func TestCircuitGoldenLong(t *testing.T) { checkGolden(t, true) }
