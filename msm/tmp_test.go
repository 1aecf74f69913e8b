package msm

import (
	"context"
	"fmt"
	"testing"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func TestTmp(t *testing.T) {
	_, _, g, h := bls12381.Generators()
	for _, n := range []int{0, 1, 2, 3, 8, 9, 10, 33, 100, 1000, 5000} {
		ks := make([]fr.Element, n)
		for i := range ks {
			ks[i].SetRandom()
		}
		pts := bls12381.BatchScalarMultiplicationG1(&g, ks)
		pts2 := bls12381.BatchScalarMultiplicationG2(&h, ks)
		sc := make([]fr.Element, n)
		var want fr.Element
		for i := range sc {
			sc[i].SetRandom()
			var t fr.Element
			t.Mul(&sc[i], &ks[i])
			want.Add(&want, &t)
		}
		var wi big.Int
		want.BigInt(&wi)
		var w bls12381.G1Affine
		w.ScalarMultiplication(&g, &wi)
		var w2 bls12381.G2Affine
		w2.ScalarMultiplication(&h, &wi)
		e, _ := NewCPU(Config{})
		for c := 0; c < 20; c++ {
			if c == 1 {continue}
			got, err := e.G1(context.Background(), pts, Scalars{Dense: sc}, Config{WindowBits: c})
			require.NoError(t, err)
			var a bls12381.G1Affine
			a.FromJacobian(&got)
			require.True(t, a.Equal(&w), "%d %d", n, c)
			if c < 15 {
			got2, err := e.G2(context.Background(), pts2, Scalars{Dense: sc}, Config{WindowBits: c})
			require.NoError(t, err)
			var a bls12381.G2Affine
			a.FromJacobian(&got2)
			require.True(t, a.Equal(&w2), "%d %d", n, c)
			}
		}
	}
}

func BenchmarkTmp(b *testing.B) {
	_, _, g, _ := bls12381.Generators()
	N := 1 << 20
	ks := make([]fr.Element, N)
	for i := range ks {
		ks[i].SetRandom()
	}
	pts := bls12381.BatchScalarMultiplicationG1(&g, ks)
	for i := range ks {
		ks[i].SetRandom()
	}
	e, _ := NewCPU(Config{})
	for _, k := range []int{12, 16, 18, 20} {
		n := 1 << k
		b.Run(fmt.Sprintf("n=2^%d/ours", k), func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				e.G1(context.Background(), pts[:n], Scalars{Dense: ks[:n]}, Config{})
			}
		})
		b.Run(fmt.Sprintf("n=2^%d/gnark", k), func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				var r bls12381.G1Jac
				r.MultiExp(pts[:n], ks[:n], ecc.MultiExpConfig{})
			}
		})
	}
}
