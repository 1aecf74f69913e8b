package groth16

import (
	"context"
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
		h, err := newHostFixedBase(ctx, n, n, 0)
		require.NoError(t, err)
		p, q := make([]byte, 96*len(ks)), make([]byte, 192*len(ks))
		require.NoError(t, h.G1(ctx, ks, p))
		require.NoError(t, h.G2(ctx, ks, q))
		for i := range ks {
			var want1 bls12381.G1Affine
			var want2 bls12381.G2Affine
			k := ks[i].BigInt(new(big.Int))
			raw1 := want1.ScalarMultiplication(&g1, k).RawBytes()
			raw2 := want2.ScalarMultiplication(&g2, k).RawBytes()
			require.Equal(t, raw1[:], p[96*i:96*i+96], "n %d, %v", n, k)
			require.Equal(t, raw2[:], q[192*i:192*i+192], "n %d, %v", n, k)
		}
		require.NoError(t, h.close())
	}
}

func BenchmarkFixedBase(b *testing.B) {
	h, err := newHostFixedBase(context.Background(), 1<<23, 1<<20, 1)
	require.NoError(b, err)
	defer h.close()
	ks := randomScalars(hostChunk, 7)
	dst := make([]byte, 96*hostChunk)
	for b.Loop() {
		require.NoError(b, h.G1(context.Background(), ks, dst))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*hostChunk), "ns/point")
}

func bigInt(e *fr.Element) *big.Int { return e.BigInt(new(big.Int)) }
