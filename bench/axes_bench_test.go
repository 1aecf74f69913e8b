package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAxes proves a small circuit with the densities of a proof of replication (99 % bits, a quarter in B) under every value
// of every knob, the others at their defaults. For a comparison that can be trusted use bench ab, which interleaves.
func BenchmarkAxes(b *testing.B) {
	ctx := context.Background()
	w, err := newWorkload(ctx, "mix-16", 10, true, b.TempDir())
	require.NoError(b, err)
	defer func() { require.NoError(b, w.close()) }()
	for _, a := range axes() {
		for _, v := range a.Values {
			b.Run("shape=mix-16/"+a.Name+"="+v, func(b *testing.B) {
				s := defaultSettings()
				switch a.ID {
				case "A1", "A2":
					s.Synthesis = "direct"
				}
				if v == "on" && (a.Name == "hugepages" || a.Name == "prefault") {
					x, err := axisNamed("presize")
					require.NoError(b, err)
					require.NoError(b, x.Set(&s, "exact"))
				}
				require.NoError(b, a.Set(&s, v))
				benchSettings(ctx, b, w, s)
			})
		}
	}
}

func benchSettings(ctx context.Context, b *testing.B, w *workload, s Settings) {
	p, err := w.bind(ctx, s)
	if err != nil && isUnavailable(err) {
		b.Skipf("%s: %v", unavailable, err)
	}
	require.NoError(b, err)
	defer func() { require.NoError(b, p.close()) }()
	phases := map[string]float64{}
	var core float64
	b.ResetTimer()
	for range b.N {
		o, err := p.run(ctx)
		require.NoError(b, err)
		for name, x := range byName(o.Records) {
			phases[name] += x.Wall.Seconds()
		}
		core += o.Cost.Core()
	}
	for name, t := range phases {
		b.ReportMetric(t*1e9/float64(b.N), name+"-ns/op")
	}
	b.ReportMetric(core*1e9/float64(b.N), "core-ns/op")
}
