package msm_test

import (
	"context"
	"fmt"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/msm"
	"github.com/filgroth/filgroth/pinning"
)

// fixedScalars are 0, ±1, ±2, ..., powers of two, and random ones.
func fixedScalars(n int) []fr.Element {
	k := uniform(n)
	for i := 0; i < n/2; i++ {
		switch i % 4 {
		case 0:
			k[i].SetInt64(int64(i / 4))
		case 1:
			k[i].SetInt64(-int64(i / 4))
		case 2:
			two := fr.NewElement(2)
			k[i] = fr.One()
			for range i % 255 {
				k[i].Mul(&k[i], &two)
			}
		}
	}
	return k
}

func TestFixed(t *testing.T) {
	ctx := context.Background()
	_, _, g, h := bls12381.Generators()
	before := pinning.LiveBytes()
	for _, kernel := range []msm.Kernel{msm.KernelAuto, msm.KernelGeneric} {
		for _, n := range []int{0, 1, 5, 100, 3000} {
			e, k, cfg := newCPU(t), fixedScalars(n), msm.Config{Kernel: kernel}
			f1, err := e.NewFixedG1(ctx, g, n, cfg)
			require.NoError(t, err)
			got1 := make([]bls12381.G1Affine, n)
			require.NoError(t, f1.Mul(ctx, got1, k))
			require.ErrorIs(t, f1.Mul(ctx, make([]bls12381.G1Affine, n+1), k), msm.ErrScalars)
			require.NoError(t, f1.Close())
			f2, err := e.NewFixedG2(ctx, h, n, cfg)
			require.NoError(t, err)
			got2 := make([]bls12381.G2Affine, n)
			require.NoError(t, f2.Mul(ctx, got2, k))
			require.NoError(t, f2.Close())
			if n == 0 {
				continue
			}
			require.Equal(t, bls12381.BatchScalarMultiplicationG1(&g, k), got1, "n=%d", n)
			require.Equal(t, bls12381.BatchScalarMultiplicationG2(&h, k), got2, "n=%d", n)
		}
	}
	require.Equal(t, before, pinning.LiveBytes())
}

func TestFixedInfinityAndCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	e, k := newCPU(t), fixedScalars(3000)
	f, err := e.NewFixedG1(ctx, bls12381.G1Affine{}, 10, msm.Config{})
	require.NoError(t, err)
	got := make([]bls12381.G1Affine, len(k))
	require.NoError(t, f.Mul(ctx, got, k))
	require.Equal(t, make([]bls12381.G1Affine, len(k)), got)
	before := pinning.LiveBytes()
	cancel()
	require.ErrorIs(t, f.Mul(ctx, got, k), context.Canceled)
	_, err = e.NewFixedG1(ctx, got[0], 1<<20, msm.Config{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, pinning.LiveBytes())
	require.NoError(t, f.Close())
}

func BenchmarkFixed(b *testing.B) {
	ctx := context.Background()
	_, _, g, h := bls12381.Generators()
	e := newCPU(b)
	for _, log := range []int{16, 18} {
		n := 1 << log
		k, dst1, dst2 := uniform(n), make([]bls12381.G1Affine, n), make([]bls12381.G2Affine, n)
		f1, err := e.NewFixedG1(ctx, g, 1<<22, msm.Config{})
		require.NoError(b, err)
		f2, err := e.NewFixedG2(ctx, h, 1<<22, msm.Config{})
		require.NoError(b, err)
		b.Run(fmt.Sprintf("group=g1/n=2^%d", log), func(b *testing.B) {
			measure(b, func() { require.NoError(b, f1.Mul(ctx, dst1, k)) })
		})
		b.Run(fmt.Sprintf("group=g2/n=2^%d", log), func(b *testing.B) {
			measure(b, func() { require.NoError(b, f2.Mul(ctx, dst2, k)) })
		})
		require.NoError(b, f1.Close())
		require.NoError(b, f2.Close())
	}
}
