package aggregate

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkAggregate(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{8, 64, 512} {
		f := newForger(39) // as many inputs as a 2 KiB PoRep partition has
		proofs, inputs := f.statements(n)
		prover, verifier := testSRS(b, n)
		out, err := Prove(ctx, prover, proofs, nil, V2)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("prove/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := Prove(ctx, prover, proofs, nil, V2)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/proof")
		})
		b.Run(fmt.Sprintf("verify/n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ok, err := Verify(ctx, verifier, f.vk, inputs, out, nil, V2)
				require.NoError(b, err)
				require.True(b, ok)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}

func BenchmarkLoadSRS(b *testing.B) {
	f := forger{counter: 1 << 41}
	s, err := SetupInsecure(1024, f.next(), f.next())
	require.NoError(b, err)
	var w bytes.Buffer
	_, err = s.WriteTo(&w)
	require.NoError(b, err)
	for b.Loop() {
		_, err := LoadSRS(context.Background(), bytes.NewReader(w.Bytes()), LoadConfig{})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*1024), "µs/power")
}
