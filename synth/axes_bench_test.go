package synth_test

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/synth"
)

// BenchmarkAxes is every knob of synthesis, over a circuit with the densities of a proof of replication (99 % bits, a quarter in B).
// The first of each knob's values is the default. The matrix of the experiments A1 and A2 is go test -bench 'Synth$' ./bench.
func BenchmarkAxes(b *testing.B) {
	ctx := context.Background()
	m, err := shapes.MixOf(ctx, 1<<16)
	require.NoError(b, err)
	sys, err := synth.Compile(ctx, m)
	require.NoError(b, err)
	direct := func(name string, cfg synth.DirectConfig) {
		b.Run("shape=mix-16/"+name, func(b *testing.B) {
			for b.Loop() {
				a, err := synth.DirectSynthesize(ctx, m, sys, cfg)
				require.NoError(b, err)
				require.NoError(b, a.Close())
			}
		})
	}
	assign := func(name string, cfg synth.AssignConfig) {
		b.Run("shape=mix-16/"+name, func(b *testing.B) {
			for b.Loop() {
				a, err := synth.AssignWitness(ctx, m, sys, cfg)
				require.NoError(b, err)
				require.NoError(b, sys.EvaluateStream(ctx, a, 1<<14, cfg.Threads, func(int, []fr.Element, []fr.Element, []fr.Element) error { return nil }))
				require.NoError(b, a.Close())
			}
		})
	}
	assign("synthesis=compiled", synth.AssignConfig{})
	direct("synthesis=direct", synth.DirectConfig{})
	for _, v := range []string{"auto", "base", "huge"} {
		p, err := synth.ParsePages(v)
		require.NoError(b, err)
		assign("pages="+v, synth.AssignConfig{Pages: p})
	}
	assign("threads=1", synth.AssignConfig{Threads: 1})
	for _, k := range []string{"0", "1", "2", "4", "8"} {
		direct("inline="+k, synth.DirectConfig{InlineTerms: int(k[0] - '0')})
	}
	for _, p := range []synth.Presize{synth.PresizeNone, synth.PresizeExact, synth.PresizeChunked} {
		direct("presize="+p.String(), synth.DirectConfig{Presize: p})
	}
	direct("hugepages=on", synth.DirectConfig{Presize: synth.PresizeExact, HugePages: true})
	direct("prefault=on", synth.DirectConfig{Presize: synth.PresizeExact, Prefault: true})
	direct("presize-chunk=4194304", synth.DirectConfig{Presize: synth.PresizeChunked, ChunkBytes: 4 << 20})
}
