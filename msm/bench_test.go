package msm_test

import (
	"context"
	"fmt"
	"math/big"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/pinning"
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

func uniform(n int) []fr.Element {
	k := make([]fr.Element, n)
	for i := range k {
		k[i].MustSetRandom()
	}
	return k
}

// g1Points are sums of a random point of a table and one of another, all different.
func g1Points(n int) []bls12381.G1Affine {
	_, _, g, _ := bls12381.Generators()
	table := bls12381.BatchScalarMultiplicationG1(&g, uniform(2*tableSize))
	jac := make([]bls12381.G1Jac, n)
	for i := range jac {
		jac[i].FromAffine(&table[i%tableSize])
		jac[i].AddMixed(&table[tableSize+i/tableSize])
	}
	points := hugeSlice[bls12381.G1Affine](n)
	copy(points, bls12381.BatchJacobianToAffineG1(jac))
	return points
}

// hugeSlice lies in huge pages, as the points of a decoded key do.
func hugeSlice[T any](n int) []T {
	b, err := pinning.AllocWith(n*int(unsafe.Sizeof(*new(T))), "bench points", pinning.Options{HugePages: true})
	if err != nil {
		return make([]T, n)
	}
	return pinning.Slice[T](b, n)
}

const tableSize = 1 << 11 // tableSize squared points at most

func g2Points(n int) []bls12381.G2Affine {
	_, _, _, g := bls12381.Generators()
	table := bls12381.BatchScalarMultiplicationG2(&g, uniform(2*tableSize))
	points := hugeSlice[bls12381.G2Affine](n)
	for i := range points {
		var j bls12381.G2Jac
		j.FromAffine(&table[i%tableSize])
		j.AddMixed(&table[tableSize+i/tableSize])
		points[i].FromJacobian(&j)
	}
	return points
}

func newCPU(b testing.TB) *msm.CPU {
	e, err := msm.NewCPU(msm.Config{})
	require.NoError(b, err)
	return e
}

var sizes = []int{8, 10, 12, 14, 16, 18, 20, 22}

// BenchmarkG1 is uniform scalars; the yardstick of this project is n=2^18,
// engine=gnark-crypto. Choose lines with -bench 'G1/n=2\^18/'.
func BenchmarkG1(b *testing.B) {
	var points []bls12381.G1Affine
	var k []fr.Element
	e := newCPU(b)
	for _, log := range sizes {
		b.Run(fmt.Sprintf("n=2^%d", log), func(b *testing.B) {
			if len(points) < 1<<log {
				points, k = g1Points(1<<log), uniform(1<<log)
			}
			points, k := points[:1<<log], k[:1<<log]
			for _, kernel := range []msm.Kernel{msm.KernelAuto, msm.KernelGeneric} {
				b.Run(fmt.Sprintf("window=0/engine=filgroth-%v", kernel), func(b *testing.B) {
					measure(b, func() {
						_, err := e.G1(context.Background(), points, msm.Scalars{Dense: k}, msm.Config{Kernel: kernel})
						require.NoError(b, err)
					})
				})
			}
			b.Run("window=0/engine=gnark-crypto", func(b *testing.B) {
				measure(b, func() {
					var r bls12381.G1Jac
					_, err := r.MultiExp(points, k, ecc.MultiExpConfig{})
					require.NoError(b, err)
				})
			})
		})
	}
}

// BenchmarkG1Window is the choice of the window at one size.
func BenchmarkG1Window(b *testing.B) {
	e := newCPU(b)
	for _, log := range []int{12, 16, 18, 20, 22} {
		b.Run(fmt.Sprintf("n=2^%d", log), func(b *testing.B) {
			points, k := g1Points(1<<log), uniform(1<<log)
			for c := log - 8; c <= min(log, 20); c++ {
				b.Run(fmt.Sprintf("window=%d", c), func(b *testing.B) {
					measure(b, func() {
						_, err := e.G1(context.Background(), points, msm.Scalars{Dense: k}, msm.Config{WindowBits: c})
						require.NoError(b, err)
					})
				})
			}
		})
	}
}

func BenchmarkG2(b *testing.B) {
	var points []bls12381.G2Affine
	var k []fr.Element
	e := newCPU(b)
	for _, log := range sizes[:len(sizes)-2] {
		b.Run(fmt.Sprintf("n=2^%d", log), func(b *testing.B) {
			if len(points) < 1<<log {
				points, k = g2Points(1<<log), uniform(1<<log)
			}
			points, k := points[:1<<log], k[:1<<log]
			for _, kernel := range []msm.Kernel{msm.KernelAuto, msm.KernelGeneric} {
				b.Run(fmt.Sprintf("window=0/engine=filgroth-%v", kernel), func(b *testing.B) {
					measure(b, func() {
						_, err := e.G2(context.Background(), points, msm.Scalars{Dense: k}, msm.Config{Kernel: kernel})
						require.NoError(b, err)
					})
				})
			}
			b.Run("window=0/engine=gnark-crypto", func(b *testing.B) {
				measure(b, func() {
					var r bls12381.G2Jac
					_, err := r.MultiExp(points, k, ecc.MultiExpConfig{})
					require.NoError(b, err)
				})
			})
		})
	}
}

// BenchmarkBits is the sum of about half of n points: packed bits against the same as
// full scalars.
func BenchmarkBits(b *testing.B) {
	e := newCPU(b)
	for _, log := range []int{16, 18, 20} {
		b.Run(fmt.Sprintf("n=2^%d", log), func(b *testing.B) {
			n := 1 << log
			points := g1Points(n)
			dense := make([]fr.Element, n)
			packed := make([]uint64, n/64)
			for i, r := range uniform(n) {
				if bit := r[0] & 1; bit != 0 {
					packed[i/64] |= 1 << (i % 64)
					dense[i].SetOne()
				}
			}
			for name, k := range map[string]msm.Scalars{"bits": {Bits: packed}, "dense": {Dense: dense}} {
				b.Run("scalars="+name+"/engine=filgroth", func(b *testing.B) {
					measure(b, func() {
						_, err := e.G1(context.Background(), points, k, msm.Config{})
						require.NoError(b, err)
					})
				})
			}
			b.Run("scalars=dense/engine=gnark-crypto", func(b *testing.B) {
				measure(b, func() {
					var r bls12381.G1Jac
					_, err := r.MultiExp(points, dense, ecc.MultiExpConfig{})
					require.NoError(b, err)
				})
			})
		})
	}
}

// BenchmarkFew is sums of a handful of points, against multiplying one by one.
func BenchmarkFew(b *testing.B) {
	e := newCPU(b)
	points, k := g1Points(128), uniform(128)
	for _, n := range []int{1, 2, 4, 8, 9, 12, 16, 24, 32, 64, 128} {
		b.Run(fmt.Sprintf("n=%d/engine=filgroth", n), func(b *testing.B) {
			measure(b, func() {
				_, err := e.G1(context.Background(), points[:n], msm.Scalars{Dense: k[:n]}, msm.Config{})
				require.NoError(b, err)
			})
		})
		b.Run(fmt.Sprintf("n=%d/engine=gnark-crypto", n), func(b *testing.B) {
			measure(b, func() {
				var r bls12381.G1Jac
				_, err := r.MultiExp(points[:n], k[:n], ecc.MultiExpConfig{})
				require.NoError(b, err)
			})
		})
		b.Run(fmt.Sprintf("n=%d/engine=naive", n), func(b *testing.B) {
			measure(b, func() {
				var r bls12381.G1Jac
				for i := range n {
					var p bls12381.G1Jac
					p.FromAffine(&points[i])
					p.ScalarMultiplication(&p, k[i].BigInt(new(big.Int)))
					r.AddAssign(&p)
				}
			})
		})
	}
}
