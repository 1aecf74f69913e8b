package groth16_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/groth16"
	"github.com/filgroth/filgroth/synth"
)

// BenchmarkAxes is every knob of the prover on the CPU, over a circuit with the densities of a proof of replication (99 % bits, a
// quarter in B). The first of each knob's values is the default. The device's values of the same knobs: go test -bench Axes ./bench.
func BenchmarkAxes(b *testing.B) {
	ctx := context.Background()
	m, err := shapes.MixOf(ctx, 1<<16)
	require.NoError(b, err)
	sys, err := synth.Compile(ctx, m)
	require.NoError(b, err)
	key, err := groth16.Setup(ctx, sys, groth16.SetupOptions{})
	require.NoError(b, err)
	defer func() { require.NoError(b, key.Close()) }()
	var as []*synth.Assignment
	for range 4 {
		a, err := synth.AssignWitness(ctx, m, sys, synth.AssignConfig{})
		require.NoError(b, err)
		defer func() { require.NoError(b, a.Close()) }()
		as = append(as, a)
	}
	prove := func(name string, circuits int, cfg groth16.Config) {
		b.Run("shape=mix-16/"+name, func(b *testing.B) {
			p, err := groth16.NewProver(ctx, cpuBackend(b), sys, key, cfg)
			require.NoError(b, err)
			defer func() { require.NoError(b, p.Close()) }()
			for b.Loop() {
				rs, err := p.ProveBatch(ctx, as[:circuits])
				require.NoError(b, err)
				for _, r := range rs {
					require.NoError(b, r.Err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*circuits), "ns/circuit")
		})
	}
	for _, p := range []groth16.Place{groth16.PlaceAuto, groth16.PlaceSequential, groth16.PlaceParallel} {
		prove(fmt.Sprintf("b2=%v", p), 1, groth16.Config{B2: groth16.B2Config{Place: p}})
	}
	prove("b2-threads=1", 1, groth16.Config{B2: groth16.B2Config{Place: groth16.PlaceParallel, Threads: 1}})
	for _, w := range []int{0, 8, 10, 12, 14} {
		prove(fmt.Sprintf("window=%d", w), 1, groth16.Config{Windows: groth16.Windows{H: w, L: w, A: w, B1: w, B2: w}})
	}
	prove("window-h=13", 1, groth16.Config{Windows: groth16.Windows{H: 13}})
	prove("window-l=8", 1, groth16.Config{Windows: groth16.Windows{L: 8}})
	prove("window-a=8", 1, groth16.Config{Windows: groth16.Windows{A: 8}})
	prove("window-b1=8", 1, groth16.Config{Windows: groth16.Windows{B1: 8}})
	prove("window-b2=8", 1, groth16.Config{Windows: groth16.Windows{B2: 8}})
	for _, r := range []groth16.Residence{groth16.ResidenceResident, groth16.ResidenceStreamed} {
		prove(fmt.Sprintf("key=%v", r), 1, groth16.Config{Key: groth16.KeyConfig{Residence: r}})
	}
	for _, n := range []int{1, 2, 4} {
		prove(fmt.Sprintf("key=streamed/circuits-per-call=%d", n), 4, groth16.Config{CircuitsPerCall: n, Key: groth16.KeyConfig{Residence: groth16.ResidenceStreamed}})
	}
	prove("threads=1", 1, groth16.Config{Threads: 1})
	prove("check-satisfied=on", 1, groth16.Config{CheckSatisfied: true})
	prove("skip-self-check=on", 1, groth16.Config{SkipSelfCheck: true})
}
