package msm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/msm"
)

// BenchmarkAxes is every knob of a sum over scalars with the density of a proof of replication: 99 of 100 are bits, half of them set.
// The first of each knob's values is the default.
func BenchmarkAxes(b *testing.B) {
	const n = 1 << 16
	points, aware, dense := g1Points(n), msm.Scalars{Bits: make([]uint64, n/64)}, msm.Scalars{Dense: make([]fr.Element, n)}
	for i, r := range uniform(n) {
		switch {
		case i%100 == 0:
			dense.Dense[i] = r
			aware.Tail, aware.TailAt = append(aware.Tail, r), append(aware.TailAt, uint32(i))
		case r[0]&1 != 0:
			dense.Dense[i].SetOne()
			aware.Bits[i/64] |= 1 << (i % 64)
		}
	}
	e := newCPU(b)
	for _, x := range []struct {
		name string
		k    msm.Scalars
		cfg  msm.Config
	}{
		{"bits=aware", aware, msm.Config{}}, {"bits=dense", dense, msm.Config{}},
		{"window=0", aware, msm.Config{}}, {"window=4", aware, msm.Config{WindowBits: 4}}, {"window=8", aware, msm.Config{WindowBits: 8}}, {"window=13", aware, msm.Config{WindowBits: 13}},
		{"threads=0", aware, msm.Config{}}, {"threads=1", aware, msm.Config{Threads: 1}},
		{"pass-points=0", dense, msm.Config{}}, {"pass-points=16384", dense, msm.Config{PassPoints: 1 << 14}},
		{"msm-kernel=auto", aware, msm.Config{}}, {"msm-kernel=generic", aware, msm.Config{Kernel: msm.KernelGeneric}}, {"msm-kernel=ifma", aware, msm.Config{Kernel: msm.KernelIFMA}},
	} {
		b.Run("n=2^16/"+x.name, func(b *testing.B) {
			measure(b, func() {
				_, err := e.G1(context.Background(), points, x.k, x.cfg)
				if errors.Is(err, msm.ErrUnavailable) {
					b.Skipf("unavailable: %v", err)
				}
				require.NoError(b, err)
			})
		})
	}
}
