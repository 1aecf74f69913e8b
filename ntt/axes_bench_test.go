package ntt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/ntt/ntttest"
)

// BenchmarkAxes is every knob of the quotient. The first of each knob's values is the default.
func BenchmarkAxes(b *testing.B) {
	const n = 1 << 16
	d, err := ntt.NewDomain(n)
	require.NoError(b, err)
	x, y, z := ntttest.Vector("random", n, 1), ntttest.Vector("random", n, 2), ntttest.Vector("random", n, 3)
	for _, a := range []struct {
		name string
		cfg  ntt.Config
	}{
		{"ntt-kernel=auto", ntt.Config{}}, {"ntt-kernel=generic", ntt.Config{Kernel: ntt.KernelGeneric}}, {"ntt-kernel=ifma", ntt.Config{Kernel: ntt.KernelIFMA}},
		{"ntt-no-tables=off", ntt.Config{Kernel: ntt.KernelGeneric}}, {"ntt-no-tables=on", ntt.Config{Kernel: ntt.KernelGeneric, NoTables: true}},
		{"threads=0", ntt.Config{}}, {"threads=1", ntt.Config{Threads: 1}},
	} {
		b.Run("n=2^16/"+a.name, func(b *testing.B) {
			e, err := ntt.NewCPU(a.cfg)
			if errors.Is(err, ntt.ErrUnavailable) {
				b.Skipf("unavailable: %v", err)
			}
			require.NoError(b, err)
			measure(b, func() { require.NoError(b, e.Quotient(context.Background(), d, x, y, z)) })
		})
	}
}
