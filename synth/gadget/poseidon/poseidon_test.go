package poseidon_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	native "github.com/filgroth/filgroth/internal/poseidon"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/gadget/poseidon"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/stretchr/testify/require"
)

func inputs(b *synth.Builder, n int) []num.Num {
	x := make([]num.Num, n)
	for i := range x {
		x[i] = num.Alloc(b, golden.X(i))
	}
	return x
}

func hexLE(v fr.Element) string {
	b := v.Bytes()
	slices.Reverse(b[:])
	return hex.EncodeToString(b[:])
}

// TestGolden compares with the deployed stack in all modes: rows, densities, witness, hash.
func TestGolden(t *testing.T) {
	plain := func(n int) func(b *synth.Builder) num.Num {
		return func(b *synth.Builder) num.Num { return poseidon.Hash(b, inputs(b, n)...) }
	}
	for _, c := range []struct {
		name, tDigest string
		hash          func(b *synth.Builder) num.Num
	}{
		{"poseidon_2", "658f013f99360e164ad8e7f96290944601cc064f93c153d9ea7ac1275927175f", plain(2)},
		{"poseidon_hash2_circuit", "658f013f99360e164ad8e7f96290944601cc064f93c153d9ea7ac1275927175f", plain(2)},
		{"poseidon_4", "2360602a7c4555d454b46891236273f4ae308090bc916fdcef1fb81d00ebbe70", plain(4)},
		{"poseidon_8", "ab50aeda63344f7125999ef5c4af7777380b9015ec82ad48bac2213e9353b163", plain(8)},
		{"poseidon_11", "e94a28106cbb9a718e525f0f2593ce3b138350047854ebcc3c83472ed482a6f6", plain(11)},
		{"poseidon_2_gen_randomness", "9675551c881122d99caf9a20a4bf87878e1863c432265a33e98e1c1a74e246a8",
			func(b *synth.Builder) num.Num {
				return poseidon.HashTagged(b, poseidon.TagGen, inputs(b, 2)...)
			}},
		{"poseidon_hash_md_40", "", func(b *synth.Builder) num.Num { return poseidon.HashMD(b, inputs(b, 40)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gadgettest.Reference(t, c.name)
			var out num.Num
			s, a := gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error { out = c.hash(b); return nil }))
			want, err := g.OutputString()
			require.NoError(t, err)
			require.Equal(t, want, hexLE(out.Val))
			require.Equal(t, want, hexLE(a.Value(out.Var)))
			if c.tDigest != "" {
				require.Equal(t, c.tDigest, circuittest.TDigest(t, s))
			}
		})
	}
}

// TestCounts has the published constraint counts, and the closed form for every arity.
func TestCounts(t *testing.T) {
	published := map[int]int{2: 311, 4: 377, 8: 505, 11: 598, 16: 761, 24: 1009, 36: 1385}
	for arity := 1; arity <= native.MaxArity; arity++ {
		c := gadgettest.Func(func(b *synth.Builder) error {
			x := inputs(b, arity)
			out := poseidon.Hash(b, x...)
			if b.HasValues() {
				var v []fr.Element
				for i := range x {
					v = append(v, x[i].Val)
				}
				require.Equal(t, native.Sum(v), out.Val)
			}
			return nil
		})
		s, err := synth.Compile(context.Background(), c)
		require.NoError(t, err)
		if n, ok := published[arity]; ok {
			require.Equal(t, n, s.Rows(), "arity %d", arity)
		}
		require.Equal(t, poseidon.Count(arity), s.Rows(), "arity %d", arity)
		require.Equal(t, arity+poseidon.Count(arity), s.Aux(), "arity %d", arity)
		gadgettest.Assign(t, s, c)
	}
}

// TestTemplate: hashes of the same arity share one template; their digest is that of the plain rows.
func TestTemplate(t *testing.T) {
	const n = 5
	c := gadgettest.Func(func(b *synth.Builder) error {
		x := inputs(b, 2)
		for i := 0; i < n; i++ {
			x[i&1] = poseidon.Hash(b, x[0], x[1])
		}
		return nil
	})
	s, err := synth.Compile(context.Background(), c)
	require.NoError(t, err)
	require.Len(t, s.Templates(), 1)
	require.Len(t, s.Instances(), n)
	gadgettest.Assign(t, s, c)
}

// TestWrongWitness: a changed intermediate value is noticed at whatever place.
func TestWrongWitness(t *testing.T) {
	c := gadgettest.Func(func(b *synth.Builder) error { poseidon.Hash(b, inputs(b, 4)...); return nil })
	s, err := synth.Compile(context.Background(), c)
	require.NoError(t, err)
	a := gadgettest.Assign(t, s, c)
	for i := range a.Fields {
		old := a.Fields[i]
		a.Fields[i].Double(&old)
		var u *synth.UnsatisfiedError
		require.ErrorAs(t, s.Satisfied(context.Background(), a, 0), &u, "aux %d", i)
		a.Fields[i] = old
	}
}

// TestNoAllocation: assigning many hashes allocates no more than assigning few. (The race detector makes sync.Pool forget some
// of what it is given, hence the allowance.)
func TestNoAllocation(t *testing.T) {
	run := func(n int) float64 {
		c := gadgettest.Func(func(b *synth.Builder) error {
			x := num.Alloc(b, golden.X(0))
			for i := 0; i < n; i++ {
				x = poseidon.Hash(b, x, x, x, x, x, x, x, x)
			}
			return nil
		})
		s, err := synth.Compile(context.Background(), c)
		require.NoError(t, err)
		return testing.AllocsPerRun(10, func() {
			a, err := synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{Threads: 1})
			require.NoError(t, err)
			require.NoError(t, a.Close())
		})
	}
	require.Less(t, run(101)-run(1), 75.0)
}

func BenchmarkAssign(b *testing.B) {
	for _, arity := range []int{2, 4, 8, 11} {
		b.Run(fmt.Sprintf("arity=%d", arity), func(b *testing.B) {
			const n = 1000
			c := gadgettest.Func(func(bu *synth.Builder) error {
				x := inputs(bu, arity)
				for i := 0; i < n; i++ {
					x[i%arity] = poseidon.Hash(bu, x...)
				}
				return nil
			})
			s, err := synth.Compile(context.Background(), c)
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				a, err := synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{Threads: 1})
				require.NoError(b, err)
				require.NoError(b, a.Close())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/hash")
		})
	}
}
