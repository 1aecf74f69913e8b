package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/bench/shapes"
	"github.com/filgroth/filgroth/pinning"
	"github.com/filgroth/filgroth/synth"
	"github.com/stretchr/testify/require"
)

// synthArms are the configurations of direct synthesis that are compared: every A1 with every A2, and each way to back mapped
// vectors with memory.
func synthArms() []synth.DirectConfig {
	var arms []synth.DirectConfig
	for _, p := range []synth.Presize{synth.PresizeNone, synth.PresizeExact, synth.PresizeChunked} {
		for _, k := range []int{0, 1, 2, 4, 8} {
			arms = append(arms, synth.DirectConfig{InlineTerms: k, Presize: p})
		}
	}
	for _, p := range []synth.Presize{synth.PresizeExact, synth.PresizeChunked} {
		for _, m := range []struct{ huge, prefault bool }{{true, false}, {false, true}, {true, true}} {
			arms = append(arms, synth.DirectConfig{InlineTerms: 4, Presize: p, HugePages: m.huge, Prefault: m.prefault, ChunkBytes: 4 << 20})
		}
	}
	return arms
}

// perRow reports what a measured loop did for each iteration and row.
func perRow(b *testing.B, rows int, f func() error) {
	b.Helper()
	var total Cost
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		debug.FreeOSMemory() // every arm starts from the same heap
		b.StartTimer()
		c, err := measure(f)
		require.NoError(b, err)
		total.User += c.User
		total.System += c.System
		total.Minor += c.Minor
		total.Major += c.Major
		total.PeakRSS = max(total.PeakRSS, c.PeakRSS)
		for k, v := range c.Counters {
			b.ReportMetric(float64(v)/float64(rows), k+"/row")
		}
	}
	n := float64(b.N)
	b.ReportMetric(b.Elapsed().Seconds()*1e9/n/float64(rows), "ns/row")
	b.ReportMetric(total.User/n, "user-s/op")
	b.ReportMetric(total.System/n, "sys-s/op")
	b.ReportMetric(float64(total.Minor)/n, "minor-faults/op")
	b.ReportMetric(float64(total.Major)/n, "major-faults/op")
	b.ReportMetric(float64(total.PeakRSS), "peak-rss-bytes")
}

// BenchmarkSynth is the matrix of the experiments A1 and A2 at 2^20 rows, with compiled synthesis (witness and evaluation into the
// same four vectors' worth of memory) beside it. Go runs the counts of one benchmark after each other: for interleaved runs repeat
// the whole command with -benchtime 1x -count 1.
func BenchmarkSynth(b *testing.B) {
	ctx := context.Background()
	m, err := shapes.MixOf(ctx, 1<<20)
	require.NoError(b, err)
	sys, err := synth.Compile(ctx, m)
	require.NoError(b, err)
	b.Run("rows=2^20/mode=compiled", func(b *testing.B) {
		perRow(b, sys.Rows(), func() error { return compiledOnce(ctx, m, sys) })
	})
	for _, cfg := range synthArms() {
		b.Run("rows=2^20/mode=direct/"+cfg.String(), func(b *testing.B) {
			perRow(b, sys.Rows(), func() error { return directOnce(ctx, m, sys, cfg) })
		})
	}
}

// BenchmarkScale compares the two modes over sizes; SynthesisOnly benchmarks of the real circuits are the mode synth.
func BenchmarkScale(b *testing.B) {
	ctx := context.Background()
	for _, log := range []int{16, 18, 20, 22} {
		m, err := shapes.MixOf(ctx, 1<<log)
		require.NoError(b, err)
		sys, err := synth.Compile(ctx, m)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("rows=2^%d/mode=compiled", log), func(b *testing.B) {
			perRow(b, sys.Rows(), func() error { return compiledOnce(ctx, m, sys) })
		})
		for _, p := range []synth.Presize{synth.PresizeNone, synth.PresizeExact} {
			b.Run(fmt.Sprintf("rows=2^%d/mode=direct/presize=%v", log, p), func(b *testing.B) {
				perRow(b, sys.Rows(), func() error { return directOnce(ctx, m, sys, synth.DirectConfig{InlineTerms: 4, Presize: p}) })
			})
		}
	}
}

func directOnce(ctx context.Context, c synth.Circuit, sys *synth.System, cfg synth.DirectConfig) error {
	a, err := synth.DirectSynthesize(ctx, c, sys, cfg)
	if err != nil {
		return err
	}
	return a.Close()
}

// compiledOnce leaves what direct synthesis leaves: witness and whole a, b, c.
func compiledOnce(ctx context.Context, c synth.Circuit, sys *synth.System) error {
	a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{Threads: 1})
	if err != nil {
		return err
	}
	n := sys.Constraints()
	buf, err := pinning.Alloc(3*n*32, "a, b, c")
	if err != nil {
		return err
	}
	v := pinning.Slice[fr.Element](buf, 3*n)
	if err := sys.Evaluate(ctx, a, v[:n], v[n:2*n], v[2*n:], 1); err != nil {
		return err
	}
	if err := buf.Close(); err != nil {
		return err
	}
	return a.Close()
}

// BenchmarkPoRep is a 2 KiB proof of replication: the witness alone, the witness with its evaluation, and direct synthesis, which gives
// both at once as the deployed prover makes them.
func BenchmarkPoRep(b *testing.B) {
	ctx := context.Background()
	blank, cases, err := circuitsOf(ctx, "porep-2k", 1)
	require.NoError(b, err)
	sys, err := synth.Compile(ctx, blank)
	require.NoError(b, err)
	c := cases[0].Circuit
	b.Run("shape=porep-2k/mode=assign", func(b *testing.B) {
		perRow(b, sys.Rows(), func() error {
			a, err := synth.AssignWitness(ctx, c, sys, synth.AssignConfig{Threads: 1})
			if err != nil {
				return err
			}
			return a.Close()
		})
	})
	b.Run("shape=porep-2k/mode=assign+evaluate", func(b *testing.B) {
		perRow(b, sys.Rows(), func() error { return compiledOnce(ctx, c, sys) })
	})
	for _, p := range []synth.Presize{synth.PresizeNone, synth.PresizeExact} {
		b.Run(fmt.Sprintf("shape=porep-2k/mode=direct/presize=%v", p), func(b *testing.B) {
			perRow(b, sys.Rows(), func() error { return directOnce(ctx, c, sys, synth.DirectConfig{InlineTerms: 4, Presize: p}) })
		})
	}
}
