//go:build long

package main

import "testing"

// The keys are 1.1 GB and 0.3 GB.
func TestLongGoldenSealAndUpdate(t *testing.T) { proveGolden(t, "porep", "snap") }
