package ntt_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/utils"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/ntt/ntttest"
)

// cpuTime is what this process used so far, all threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measure runs f as a benchmark and reports processor time beside wall time: on a shared
// machine the steadier of the two.
func measure(b *testing.B, f func()) {
	start := cpuTime()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64((cpuTime()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func BenchmarkQuotient(b *testing.B) {
	for _, log := range []int{16, 18, 20, 22} {
		n := 1 << log
		x, y, z := ntttest.Vector("random", n, 1), ntttest.Vector("random", n, 2), ntttest.Vector("random", n, 3)
		b.Run(fmt.Sprintf("n=2^%d/engine=filgroth", log), func(b *testing.B) {
			e := engine(b, ntt.Config{})
			d, err := ntt.NewDomain(uint64(n))
			require.NoError(b, err)
			measure(b, func() { require.NoError(b, e.Quotient(context.Background(), d, x, y, z)) })
		})
		b.Run(fmt.Sprintf("n=2^%d/engine=gnark-crypto", log), func(b *testing.B) {
			d := fft.NewDomain(uint64(n))
			measure(b, func() { gnarkQuotient(d, x, y, z) })
		})
	}
}

func BenchmarkTransform(b *testing.B) {
	for _, log := range []int{16, 18, 20, 22} {
		n := 1 << log
		v := ntttest.Vector("random", n, 1)
		b.Run(fmt.Sprintf("n=2^%d/engine=filgroth", log), func(b *testing.B) {
			e := engine(b, ntt.Config{})
			d, err := ntt.NewDomain(uint64(n))
			require.NoError(b, err)
			measure(b, func() { require.NoError(b, e.Transform(context.Background(), d, v, ntt.Forward, ntt.Plain)) })
		})
		b.Run(fmt.Sprintf("n=2^%d/engine=gnark-crypto", log), func(b *testing.B) {
			d := fft.NewDomain(uint64(n))
			measure(b, func() {
				d.FFT(v, fft.DIF)
				utils.BitReverse(v)
			})
		})
	}
}
