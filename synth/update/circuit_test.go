package update

import (
	"context"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/filgroth/filgroth/internal/golden"
	"github.com/filgroth/filgroth/synth"
	"github.com/filgroth/filgroth/synth/gadget/boolean"
	"github.com/filgroth/filgroth/synth/gadget/gadgettest"
	"github.com/filgroth/filgroth/synth/gadget/num"
	"github.com/filgroth/filgroth/synth/internal/circuittest"
	"github.com/filgroth/filgroth/synth/vanilla"
	"github.com/stretchr/testify/require"
)

// goldenSizes are the sector sizes of the golden circuits.
var goldenSizes = map[string]vanilla.SectorSize{
	"update_1kib": vanilla.Size1KiB, "update_2kib": vanilla.Size2KiB, "update_4kib": vanilla.Size4KiB, "update_8kib": vanilla.Size8KiB,
	"update_16kib": vanilla.Size16KiB, "update_32kib": vanilla.Size32KiB,
	"update-2k": vanilla.Size2KiB, "update-4k": vanilla.Size4KiB, "update-16k": vanilla.Size16KiB, "update-32k": vanilla.Size32KiB,
	"update-8m": vanilla.Size8MiB, "update-512m": vanilla.Size512MiB, "update-32g": vanilla.Size32GiB,
}

// long says which circuits are compared in the long test only; duplicates (test shapes that are production shapes) as well.
var long = map[string]bool{"update-512m": true, "update-32g": true, "update_2kib": true, "update_4kib": true, "update_16kib": true,
	"update_32kib": true}

func shapeFor(t testing.TB, name string) CircuitShape {
	s, err := ShapeOf(goldenSizes[name])
	require.NoError(t, err)
	return s
}

func checkGolden(t *testing.T, inLong bool) {
	refs := circuittest.Load(t, "testdata/circuits.json.gz")
	require.Len(t, refs, len(goldenSizes))
	for name := range goldenSizes {
		if long[name] == inLong {
			t.Run(name, func(t *testing.T) {
				circuittest.Check(t, refs[name], &Circuit{Shape: shapeFor(t, name)})
			})
		}
	}
}

// TestCircuitGolden compares circuits with the deployed stack: counts, rows, densities.
func TestCircuitGolden(t *testing.T) { checkGolden(t, false) }

// TestCircuitCounts has the specified counts of production circuits and of the Poseidon variant.
func TestCircuitCounts(t *testing.T) {
	for _, c := range []struct {
		size          vanilla.SectorSize
		poseidon      bool
		in, aux, rows int
		tDigest       string
	}{
		{size: vanilla.Size2KiB, in: 5, aux: 1703569, rows: 1705039, tDigest: "c787aea9329f4525b3bcde14533b9b775654f6a9afe0a7c671783c8bd4f1f7a5"},
		{size: vanilla.Size8MiB, in: 5, aux: 9998039, rows: 10007503},
		{size: vanilla.Size512MiB, in: 5, aux: 57401314, rows: 57450479},
		{size: vanilla.Size32GiB, in: 5, aux: 80978488, rows: 81049499},
		{size: vanilla.Size64GiB, in: 5, aux: 84931220, rows: 85006101},
		{size: vanilla.Size2KiB, poseidon: true, in: 5, aux: 36834, rows: 36424, tDigest: "c4c30fa1d5352f2413fd7ac8d04dfb05747b33e49ba060892d1a1b801dd1220e"},
		{size: vanilla.Size32GiB, poseidon: true, in: 5, aux: 22593319, rows: 22305906},
		{size: vanilla.Size64GiB, poseidon: true, in: 5, aux: 23889511, rows: 23597970},
	} {
		shape, err := ShapeOf(c.size)
		if c.poseidon {
			shape, err = PoseidonShapeOf(c.size)
		}
		require.NoError(t, err)
		s, err := synth.Compile(context.Background(), &Circuit{Shape: shape})
		require.NoError(t, err)
		require.Equal(t, [3]int{c.in, c.aux, c.rows}, [3]int{s.Inputs(), s.Aux(), s.Rows()}, "%v, Poseidon variant: %v", c.size, c.poseidon)
		require.Less(t, s.Bytes(), int64(200<<20))
		if c.tDigest != "" {
			require.Equal(t, c.tDigest, circuittest.TDigest(t, s))
		}
	}
}

func TestGoldenChallengeBits(t *testing.T) {
	g := gadgettest.Reference(t, "update_gen_challenge_bits")
	var out [][]boolean.Bool
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		crn := num.Alloc(b, golden.X(0))
		part := num.Alloc(b, fr.NewElement(3))
		out = challengeBits(b, crn, part, 3, 10, 6)
		return nil
	}))
	want, err := g.OutputStrings()
	require.NoError(t, err)
	require.Len(t, out, len(want))
	for i := range out {
		s := ""
		for _, x := range out[i] {
			s += fmt.Sprint(map[bool]int{true: 1}[x.Val])
		}
		require.Equal(t, want[i], s)
	}
}

func TestGoldenHighBits(t *testing.T) {
	g := gadgettest.Reference(t, "update_challenge_high_bits")
	var out num.Num
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		c := boolean.AllocLE(b, []uint64{0x2abcdef1}, 30).Bools()
		sel := boolean.AllocLE(b, []uint64{1 << 3}, hChoices).Bools()
		out = highBits(b, c, sel, []int{7, 8, 9, 10, 11, 12})
		return nil
	}))
	want, err := g.OutputString()
	require.NoError(t, err)
	require.Equal(t, want, vanilla.FromFr(out.Val).String())
}

func TestGoldenLabelNew(t *testing.T) {
	g := gadgettest.Reference(t, "update_label_r_new")
	var out num.Num
	gadgettest.Check(t, g, gadgettest.Func(func(b *synth.Builder) error {
		old, data, rho := num.Alloc(b, golden.X(0)), num.Alloc(b, golden.X(1)), num.Alloc(b, golden.X(2))
		out = labelNew(b, old, data, rho)
		return nil
	}))
	want, err := g.OutputString()
	require.NoError(t, err)
	c := vanilla.FromFr(out.Val)
	require.Equal(t, want, hex.EncodeToString(c[:]))
}

// TestCircuitBadShapes: shapes that do not exist are an error.
func TestCircuitBadShapes(t *testing.T) {
	good := shapeFor(t, "update-2k")
	for what, change := range map[string]func(s *CircuitShape){
		"nodes":      func(s *CircuitShape) { s.Nodes = 63 },
		"partitions": func(s *CircuitShape) { s.Partitions = 3 },
		"none":       func(s *CircuitShape) { s.Partitions = 0 },
		"apex":       func(s *CircuitShape) { s.ApexLeaves = 128 },
		"h":          func(s *CircuitShape) { s.H[5] = 7 },
		"tree":       func(s *CircuitShape) { s.Tree.Sub = 3 },
		"variant":    func(s *CircuitShape) { s.Poseidon, s.Partitions = true, 2 },
		"challenges": func(s *CircuitShape) { s.Challenges = -1 },
	} {
		s := good
		change(&s)
		_, err := synth.Compile(context.Background(), &Circuit{Shape: s})
		require.ErrorIs(t, err, ErrCircuitShape, what)
	}
	_, err := ShapeOf(3 << 10)
	require.ErrorIs(t, err, ErrCircuitShape)
	_, err = PoseidonShapeOf(3 << 10)
	require.ErrorIs(t, err, ErrCircuitShape)
}

// BenchmarkAssign makes witnesses of blank partitions; the work does not depend on the values.
func BenchmarkAssign(b *testing.B) {
	for _, name := range []string{"update-2k", "update-8m", "update-512m", "update-32g"} {
		b.Run("shape="+name, func(b *testing.B) {
			c := &Circuit{Shape: shapeFor(b, name)}
			s, err := synth.Compile(context.Background(), c)
			require.NoError(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				a, err := synth.AssignWitness(context.Background(), c, s, synth.AssignConfig{Threads: 1})
				require.NoError(b, err)
				b.ReportMetric(float64(len(a.Bits)*8+len(a.Fields)*32), "witness-bytes")
				require.NoError(b, a.Close())
			}
		})
	}
}
