package groth16_test

import (
	"testing"

	"github.com/filgroth/filgroth/groth16/groth16test"
)

func TestComposeConformance(t *testing.T) {
	groth16test.Run(t, cpuBackend(t), groth16test.Options{Large: true})
}
