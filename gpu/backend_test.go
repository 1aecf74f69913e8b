package gpu

import (
	"testing"

	"github.com/filgroth/filgroth/groth16/groth16test"
)

func TestBackend(t *testing.T) {
	d, real := testDevice(t, Options{})
	groth16test.Run(t, d, groth16test.Options{Large: real})
}
