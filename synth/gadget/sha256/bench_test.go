package sha256_test

import (
	"fmt"
	"testing"

	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	gadget "github.com/filgroth/filgroth/synth/gadget/sha256"
)

// blocks is a circuit of n compressions of variables, chained. before runs between the allocations and the compressions.
func blocks(n int, before func()) synth.Circuit {
	return gadgettest.Func(func(b *synth.Builder) error {
		block, state := boolean.AllocBytes(b, counting(64)), boolean.AllocBytes(b, counting(32))
		before()
		for i := 0; i < n; i++ {
			var err error
			if state, err = gadget.Compress(b, block, state); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkSHA256Block is the cost of one compression among variables, by mode.
func BenchmarkSHA256Block(b *testing.B) {
	const assigned, direct = 256, 2
	run := func(mode string, n int, f func(b *testing.B, c synth.Circuit, s *synth.System)) {
		b.Run("mode="+mode, func(b *testing.B) {
			c := blocks(n, func() {})
			s, err := synth.Compile(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			f(b, c, s)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/block")
		})
	}
	run("assign", assigned, func(b *testing.B, c synth.Circuit, s *synth.System) {
		for i := 0; i < b.N; i++ {
			a, err := synth.AssignWitness(b.Context(), c, s, synth.AssignConfig{})
			if err != nil {
				b.Fatal(err)
			}
			a.Close()
		}
	})
	for _, inline := range []int{0, 4} {
		run(fmt.Sprintf("direct/inline=%d", inline), direct, func(b *testing.B, c synth.Circuit, s *synth.System) {
			for i := 0; i < b.N; i++ {
				a, err := synth.DirectSynthesize(b.Context(), c, s, synth.DirectConfig{InlineTerms: inline})
				if err != nil {
					b.Fatal(err)
				}
				a.Close()
			}
		})
	}
	run("shape", direct, func(b *testing.B, c synth.Circuit, _ *synth.System) {
		for i := 0; i < b.N; i++ {
			if _, err := synth.Compile(b.Context(), c); err != nil {
				b.Fatal(err)
			}
		}
	})
}
