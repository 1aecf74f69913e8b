package groth16

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func randomScalars(n int, seed uint64) []fr.Element {
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]fr.Element, n)
	for i := range out {
		var b [40]byte
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		out[i].SetBytes(b[:])
	}
	return out
}

// edgeScalars are values whose signed digits carry to the top or whose partial sums meet.
func edgeScalars() []fr.Element {
	out := make([]fr.Element, 4, 600)
	out[1].SetOne()
	out[2].SetInt64(-1)
	out[3].SetInt64(-2)
	for i := 1; i < 256; i++ {
		var e fr.Element
		e.SetBigInt(new(big.Int).Lsh(big.NewInt(1), uint(i)))
		out = append(out, e)
		var m fr.Element
		m.SetInt64(-1)
		out = append(out, *m.Add(&m, &e))
	}
	return out
}

func TestFixedBase(t *testing.T) {
	noLeak(t)
	ctx := context.Background()
	_, _, g1, g2 := bls12381.Generators()
	ks := append(edgeScalars(), randomScalars(50, 1)...)
	for _, n := range []int{1, 10, 1000, 1 << 14} { // chooses the window
		f1, err := newFixedG1(ctx, n, 0)
		require.NoError(t, err)
		p := make([]bls12381.G1Affine, len(ks))
		f1.mul(new(mulScratchG1), castG1(p), ks)
		f2, err := newFixedG2(ctx, n, 0)
		require.NoError(t, err)
		q := make([]bls12381.G2Affine, len(ks))
		f2.mul(new(mulScratchG2), castG2(q), ks)
		for i := range ks {
			var want1 bls12381.G1Affine
			var want2 bls12381.G2Affine
			k := ks[i].BigInt(new(big.Int))
			require.True(t, want1.ScalarMultiplication(&g1, k).Equal(&p[i]), "n %d, %v", n, k)
			require.True(t, want2.ScalarMultiplication(&g2, k).Equal(&q[i]), "n %d, %v", n, k)
		}
		f1.close()
		f2.close()
	}
}

func BenchmarkFixedBase(b *testing.B) {
	for _, n := range []int{1 << 16, 1 << 18, 1 << 23} {
		b.Run(fmt.Sprintf("window-of-%d", n), func(b *testing.B) {
			f, err := newFixedG1(context.Background(), n, 1)
			require.NoError(b, err)
			defer f.close()
			ks := randomScalars(setupPiece, 7)
			p := make([]bls12381.G1Affine, setupPiece)
			var s mulScratchG1
			b.ResetTimer()
			for b.Loop() {
				f.mul(&s, castG1(p), ks)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*setupPiece), "ns/point")
			b.ReportMetric(float64(f.c), "window")
		})
	}
}

func bigInt(e *fr.Element) *big.Int { return e.BigInt(new(big.Int)) }
