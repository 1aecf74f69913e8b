package ntt_test

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/parallel"
	"github.com/consensys/gnark-crypto/utils"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/ntt"
	"github.com/filgroth/filgroth/ntt/ntttest"
)

func engine(t testing.TB, cfg ntt.Config) ntt.Engine {
	e, err := ntt.NewCPU(cfg)
	require.NoError(t, err)
	return e
}

func TestCPU(t *testing.T) {
	for _, cfg := range []ntt.Config{{}, {Threads: 1}, {Threads: 5}, {Kernel: ntt.KernelGeneric}, {Kernel: ntt.KernelGeneric, NoTables: true}} {
		t.Run(cfg.String(), func(t *testing.T) {
			ntttest.Run(t, func() ntt.Engine { return engine(t, cfg) }, ntttest.Options{})
		})
	}
}

// The roots of unity of spec/groth16 1.1.
func TestRoots(t *testing.T) {
	for log, want := range map[int]string{
		1:  "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000000",
		11: "0x6d031f1b5c49c83409f1ca610a08f16655ea6811be9c622d4a838b5d59cd79e5",
		20: "0x3e1c54bcb947035a57a6e07cb98de4a2f69e02d265e09d9fece7e0e39898d4b",
		25: "0x19fe632fd3287390454dc1edc61a1a3c0ba12bb3da64ca5ce32ef844e11a51e",
		26: "0xa0a77a3b1980c0d116168bffbedc11d02c8118402867ddc531a11a0d2d75182",
		27: "0x23397a9300f8f98bece8ea224f31d25db94f1101b1d7a628e2d0a7869f0319ed",
	} {
		d, err := ntt.NewDomain(1 << log)
		require.NoError(t, err)
		var w fr.Element
		_, err = w.SetString(want)
		require.NoError(t, err)
		root := d.Root()
		require.True(t, root.Equal(&w), "log=%d", log)
	}
}

func TestNewDomain(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		want uint64
	}{{0, 1}, {1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {1<<27 - 1, 1 << 27}, {1 << 27, 1 << 27},
		{1<<27 + 1, 1 << 28}, {130278869, 1 << 27}, {1 << 31, 1 << 31}} {
		d, err := ntt.NewDomain(c.n)
		require.NoError(t, err)
		require.Equal(t, c.want, d.Size())
		require.EqualValues(t, c.want, uint64(1)<<d.Log())
	}
	for _, n := range []uint64{1<<31 + 1, 1 << 32, 1<<64 - 1} {
		_, err := ntt.NewDomain(n)
		require.ErrorIs(t, err, ntt.ErrDomain)
	}
}

func TestConfig(t *testing.T) {
	_, err := ntt.NewCPU(ntt.Config{Threads: -1})
	require.ErrorIs(t, err, ntt.ErrConfig)
}

// The peer of Quotient: seven transforms of gnark-crypto, as its own Groth16 does them.
func gnarkQuotient(d *fft.Domain, a, b, c []fr.Element) {
	var z fr.Element
	for _, v := range [][]fr.Element{a, b, c} {
		d.FFTInverse(v, fft.DIF)
		d.FFT(v, fft.DIT, fft.OnCoset())
	}
	z.SetUint64(7)
	for n := d.Cardinality; n > 1; n /= 2 {
		z.Square(&z)
	}
	one := fr.One()
	z.Sub(&z, &one).Inverse(&z)
	parallel.Execute(len(a), func(from, to int) {
		for i := from; i < to; i++ {
			a[i].Mul(&a[i], &b[i]).Sub(&a[i], &c[i]).Mul(&a[i], &z)
		}
	})
	d.FFTInverse(a, fft.DIF, fft.OnCoset())
	utils.BitReverse(a)
}

func TestSameAsGnark(t *testing.T) {
	const log = 12
	d, err := ntt.NewDomain(1 << log)
	require.NoError(t, err)
	vectors := func() (a, b, c []fr.Element) {
		return ntttest.Vector("random", 1<<log, 1), ntttest.Vector("random", 1<<log, 2), ntttest.Vector("random", 1<<log, 3)
	}
	a, b, c := vectors()
	require.NoError(t, engine(t, ntt.Config{}).Quotient(context.Background(), d, a, b, c))
	want, b2, c2 := vectors()
	gnarkQuotient(fft.NewDomain(1<<log), want, b2, c2)
	require.Equal(t, want, a)
}
